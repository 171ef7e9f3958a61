import { EXPORT_FREQUENCIES, type ExportFrequency } from '@waymark/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isClosed, nextWindow, windowStartAt, windowsBetween } from '../../src/schedules/windows.js';

const MINUTE_MS = 60_000;
const iso = (ms: number) => new Date(ms).toISOString();
const windowFrom = (frequency: ExportFrequency, exportedUntil: string) =>
  nextWindow({ frequency, exportedUntil, run: null });

test.each([
  ['hourly', '2026-11-25T10:59:59.999Z', '2026-11-25T10:00:00.000Z', '2026-11-25T11:00:00.000Z'],
  ['daily', '2026-11-25T00:00:00.000Z', '2026-11-25T00:00:00.000Z', '2026-11-26T00:00:00.000Z'],
  ['weekly', '2026-11-29T23:59:59.999Z', '2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
  ['weekly', '2026-11-23T00:00:00.000Z', '2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
] as const)('the %s window of %s goes from %s to %s', (frequency, time, start, end) => {
  expect(iso(windowStartAt(frequency, Date.parse(time)))).toBe(start);
  expect(windowFrom(frequency, start)).toEqual({ start, end });
});

test('windows follow one another without gap or overlap, also when the frequency changes in between', () => {
  const frequencies = fc.array(fc.constantFrom(...EXPORT_FREQUENCIES), { minLength: 1, maxLength: 50 });
  const times = fc.integer({ min: 0, max: 4e12 });
  fc.assert(
    fc.property(times, frequencies, (time, changes) => {
      let start = iso(windowStartAt(changes[0] ?? 'hourly', time));
      expect(Date.parse(start)).toBeLessThanOrEqual(time);
      for (const frequency of changes) {
        const window = windowFrom(frequency, start);
        expect(window.start).toBe(start);
        expect(Date.parse(window.end)).toBeGreaterThan(Date.parse(start));
        // Whatever it began with, it ends with an hour, day or week.
        expect(windowStartAt(frequency, Date.parse(window.end))).toBe(Date.parse(window.end));
        expect(windowsBetween(frequency, Date.parse(start), Date.parse(window.end))).toBeLessThanOrEqual(1);
        start = window.end;
      }
    }),
  );
});

test('a window that was begun keeps its end when the frequency changes', () => {
  const run = { end: '2026-11-25T11:00:00.000Z', files: [], lastId: null, manifest: null };
  expect(nextWindow({ frequency: 'weekly', exportedUntil: '2026-11-25T10:00:00.000Z', run }).end).toBe(run.end);
});

test('a window is closed five minutes after its end', () => {
  const window = { start: '2026-11-25T10:00:00.000Z', end: '2026-11-25T11:00:00.000Z' };
  const endMs = Date.parse(window.end);
  expect([endMs + 5 * MINUTE_MS - 1, endMs + 5 * MINUTE_MS].map((now) => isClosed(window, now))).toEqual([false, true]);
});
