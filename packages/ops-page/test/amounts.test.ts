import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountText, UNITS } from '../src/amounts.js';
import { scaleTop, tickSteps, visibleSpan } from '../src/axes.js';
import { ageText, timeText } from '../src/clock.js';
import { presentValue } from '../src/latest.js';

test.each([
  [0, 'count', '0'],
  [999, 'count', '999'],
  [1000, 'count', '1k'],
  [12_345, 'count', '12.3k'],
  [4_200_000, 'per-minute', '4.2M/min'],
  [0.25, 'per-minute', '0.25/min'],
  [12, 'milliseconds', '12 ms'],
  [1840, 'milliseconds', '1.84 s'],
  [90_000, 'milliseconds', '1.5 min'],
  [512 * 1024 ** 2, 'bytes', '512 MiB'],
  [1536, 'bytes', '1.5 KiB'],
] as const)('%d as %s reads %s', (value, unit, text) => {
  expect(amountText(value, unit)).toBe(text);
});

test('a number with its unit is short enough for an axis', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), fc.constantFrom(...UNITS), (value, unit) => {
      expect(amountText(value, unit).length).toBeLessThanOrEqual(13);
    }),
  );
});

test.each(UNITS)('ticks of %s are ascending, and those of counts are whole numbers', (unit) => {
  const steps = tickSteps(unit);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  expect(new Set(steps).size).toBe(steps.length);
  if (unit !== 'milliseconds') expect(steps.every(Number.isInteger)).toBe(true);
});

test('a scale has an upper end even without values', () => {
  expect([scaleTop(null), scaleTop(0)]).toEqual([1, 1]);
  expect(scaleTop(100)).toBeGreaterThan(100);
});

test.each([
  [-3, '0 s'],
  [59.9, '59 s'],
  [60, '1 min'],
  [7300, '2 h'],
  [172_800, '2 d'],
])('%d seconds ago reads %s', (seconds, text) => {
  expect(ageText(seconds)).toBe(text);
});

const times = Array.from({ length: 240 }, (_, index) => index * 15);
const plotFrom = (first: number, missing: 0 | null = null) => ({
  times,
  series: [{ name: 'a', tone: 'first' as const, values: times.map((_, index) => (index < first ? missing : 1)) }],
});

test('the time axis begins with the first values of a young installation, else with the range', () => {
  expect(visibleSpan([plotFrom(0), plotFrom(239)])).toEqual([0, 3585]);
  expect(visibleSpan([plotFrom(239), plotFrom(239, 0)])).toEqual([3285, 3585]);
  const [from = 0] = visibleSpan([plotFrom(120, 0), plotFrom(180)]) ?? [];
  expect(from).toBeGreaterThan(1600);
  expect(from).toBeLessThan(1800);
  expect(visibleSpan([plotFrom(240)])).toBeUndefined();
});

test.each([
  ['15 seconds', 15, 4],
  ['an hour', 3600, 3],
])('with steps of %s, a value is present until the plot has gone on for some steps', (_title, step, stepsMax) => {
  const ends = (gap: number) => {
    const values = times.map((_, index) => (index < times.length - gap ? index : null));
    return presentValue(
      times.map((_, index) => index * step),
      values,
    );
  };
  expect(ends(0)).toBe(239);
  expect(ends(stepsMax)).toBe(239 - stepsMax);
  expect(ends(stepsMax + 1)).toBeNull();
  expect(ends(times.length)).toBeNull();
  expect(presentValue([], [])).toBeNull();
});

test('a time of another day has its day', () => {
  const at = new Date(2026, 2, 4, 14, 5, 7).getTime();
  expect(timeText(at, at + 3_600_000)).toBe('14:05:07');
  expect(timeText(at, at + 86_400_000)).toBe('4 Mar, 14:05:07');
});
