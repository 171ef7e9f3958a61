import { waitFor } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { startLoopDelay } from '../src/metrics/loop-delay.js';

const NANOSECONDS = 1e9;

it('what blocks the event loop shows as its delay, to each reader by itself', async () => {
  const loopDelay = startLoopDelay();
  const [histogram, other] = [loopDelay.histogram(), loopDelay.histogram()];
  // Half a second longer than the time between two measurements, so that one of them is late by that much.
  const untilMs = performance.now() + 1500;
  while (performance.now() < untilMs);
  await waitFor(() => histogram.count > 0, { what: 'a measurement' });
  expect(histogram.max).toBeGreaterThanOrEqual(0.49 * NANOSECONDS);
  histogram.reset();
  expect(histogram.count).toBe(0);
  expect(other.max).toBeGreaterThanOrEqual(0.49 * NANOSECONDS);
  loopDelay.close();
});
