import { createEventId } from '@waymark/contract';
import { expect, it } from 'vitest';
import { createRecentClicks } from '../../src/producer/recent-clicks.js';

const HOUR_MS = 3_600_000;

it('a click counts for an hour in the process that recorded it, and not after its clock was set back', () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const clicks = createRecentClicks(() => nowMs);
  const clickId = createEventId(nowMs);
  clicks.add('visitor', clickId);
  expect(clicks.get('visitor')).toBe(clickId);
  nowMs += HOUR_MS - 1;
  expect(clicks.get('visitor')).toBe(clickId);
  nowMs += 1;
  expect(clicks.get('visitor')).toBeUndefined();
  nowMs -= 2 * HOUR_MS;
  expect(clicks.get('visitor')).toBeUndefined();
});
