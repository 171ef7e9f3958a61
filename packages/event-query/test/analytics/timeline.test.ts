import { analyticsQuerySchema } from '@waymark/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countOf, parseAnalytics, timeseriesOf } from '../../src/index.js';
import { zones } from './analytics-arbitraries.js';

const DAY_MS = 24 * 3_600_000;

/** `start` of every row of a request at the given time. */
function startsAt(now: string, query: Record<string, string>, createdAt = '2020-01-01T00:00:00.000Z'): string[] {
  const parsed = parseAnalytics(analyticsQuerySchema.parse({ groupBy: 'timeseries', ...query }), {
    nowMs: Date.parse(now),
    sinceMs: Date.parse(createdAt),
  });
  return timeseriesOf(parsed.timeline!, []).map(({ start, ...numbers }) => {
    expect(numbers).toEqual(countOf([]));
    return start;
  });
}

const NOW = '2026-11-21T14:30:00.250Z';
const ends = (starts: readonly string[]) => [starts.length, starts[0], starts.at(-1)];

describe('the buckets of a time series', () => {
  test.each([
    ['24h', 25, '2026-11-20T14:00:00.000+0000', '2026-11-21T14:00:00.000+0000'],
    ['7d', 8, '2026-11-14T00:00:00.000+0000', '2026-11-21T00:00:00.000+0000'],
    ['30d', 31, '2026-10-22T00:00:00.000+0000', '2026-11-21T00:00:00.000+0000'],
    ['90d', 91, '2026-08-23T00:00:00.000+0000', '2026-11-21T00:00:00.000+0000'],
    ['mtd', 21, '2026-11-01T00:00:00.000+0000', '2026-11-21T00:00:00.000+0000'],
    ['qtd', 52, '2026-10-01T00:00:00.000+0000', '2026-11-21T00:00:00.000+0000'],
    ['1y', 13, '2025-11-01T00:00:00.000+0000', '2026-11-01T00:00:00.000+0000'],
    ['ytd', 11, '2026-01-01T00:00:00.000+0000', '2026-11-01T00:00:00.000+0000'],
  ])('interval=%s: %i buckets, from the one that contains the start of the range', (interval, ...expected) => {
    expect(ends(startsAt(NOW, { interval }))).toEqual(expected);
  });

  test.each([
    ['2026-11-21T09:00:00.000Z', 15, '2026-11-21T00:00:00.000+0000'],
    ['2026-11-19T23:00:00.000Z', 72, '2026-11-19T00:00:00.000+0000'],
    ['2026-11-18T23:00:00.000Z', 4, '2026-11-18T00:00:00.000+0000'],
    ['2026-05-25T12:00:00.000Z', 181, '2026-05-25T00:00:00.000+0000'],
    ['2026-05-24T12:00:00.000Z', 7, '2026-05-01T00:00:00.000+0000'],
  ])('interval=all of a workspace created at %s has %i buckets', (createdAt, count, first) => {
    const starts = startsAt(NOW, { interval: 'all' }, createdAt);
    // The range extends to the end of the current day.
    expect([starts.length, starts[0]]).toEqual([createdAt.startsWith('2026-11-21') ? 24 : count, first]);
  });

  test.each([
    // At 14:30 UTC it is 20:15 in Kathmandu and 03:30 in Pago Pago.
    // 23:30 UTC is on the next day in Kathmandu, and 00:30 UTC is on the day before in Pago Pago.
    ['Asia/Kathmandu', '2026-11-18T23:30:00.000Z', 72, '2026-11-19T00:00:00.000+0545'],
    ['Asia/Kathmandu', '2026-11-17T23:30:00.000Z', 4, '2026-11-18T00:00:00.000+0545'],
    ['Asia/Kathmandu', '2026-05-24T23:30:00.000Z', 181, '2026-05-25T00:00:00.000+0545'],
    ['Asia/Kathmandu', '2026-05-23T23:30:00.000Z', 7, '2026-05-01T00:00:00.000+0545'],
    ['Pacific/Pago_Pago', '2026-11-20T00:30:00.000Z', 72, '2026-11-19T00:00:00.000-1100'],
    ['Pacific/Pago_Pago', '2026-11-19T00:30:00.000Z', 4, '2026-11-18T00:00:00.000-1100'],
    ['Pacific/Pago_Pago', '2026-05-26T00:30:00.000Z', 181, '2026-05-25T00:00:00.000-1100'],
    ['Pacific/Pago_Pago', '2026-05-25T00:30:00.000Z', 7, '2026-05-01T00:00:00.000-1100'],
  ])('interval=all counts the days in %s since %s', (timezone, createdAt, count, first) => {
    const starts = startsAt(NOW, { interval: 'all', timezone }, createdAt);
    expect([starts.length, starts[0]]).toEqual([count, first]);
  });

  test('a workspace created in the future, because of clock skew, has the buckets of one day', () => {
    expect(startsAt(NOW, { interval: 'all' }, '2026-11-22T00:00:00.000Z')).toHaveLength(24);
  });

  test.each([
    ['2026-11-19', '2026-11-21', 72],
    ['2026-11-18', '2026-11-21', 4],
    ['2026-05-25', '2026-11-21', 181],
    ['2026-05-24', '2026-11-21', 7],
    ['2026-11-21T14:10:00Z', '2026-11-21T14:20:00Z', 1],
    ['2026-11-21T14:10:00Z', '2026-11-21T15:00:00Z', 2],
    ['2026-11-18T23:59:59Z', '2026-11-21T00:00:00Z', 4],
    ['2026-11-21', '2026-11-19', 72],
  ])('from %s to %s there are %i buckets', (start, end, count) => {
    expect(startsAt(NOW, { start, end })).toHaveLength(count);
  });

  test('more than 5000 buckets are refused', () => {
    expect(() => startsAt(NOW, { start: '0001-01-01', end: '9999-12-31' })).toThrow(/^too_big: start: /);
    expect(startsAt(NOW, { start: '1800-01-01', end: '2216-08-31' })).toHaveLength(5000);
    expect(() => startsAt(NOW, { start: '1800-01-01', end: '2216-09-01' })).toThrow(/^too_big: start: /);
  });
});

describe('bucket starts', () => {
  test.each([
    ['Asia/Kathmandu', '2026-11-21T00:00:00.000+0545'],
    ['Asia/Kolkata', '2026-11-21T00:00:00.000+0530'],
    ['America/St_Johns', '2026-11-21T00:00:00.000-0330'],
    ['Australia/Lord_Howe', '2026-11-22T00:00:00.000+1100'],
    ['Pacific/Chatham', '2026-11-22T00:00:00.000+1345'],
    ['Nowhere/Land', '2026-11-21T00:00:00.000+0000'],
  ])('days begin at midnight in %s', (timezone, last) => {
    expect(startsAt(NOW, { interval: '7d', timezone }).at(-1)).toBe(last);
  });

  test('an hour that the clock repeats has two buckets, one that it skips has none', () => {
    const autumn = startsAt(NOW, { start: '2026-10-25', end: '2026-10-25', timezone: 'Europe/Berlin' });
    expect(autumn).toHaveLength(25);
    expect(autumn.slice(2, 5)).toEqual([
      '2026-10-25T02:00:00.000+0200',
      '2026-10-25T02:00:00.000+0100',
      '2026-10-25T03:00:00.000+0100',
    ]);
    const spring = startsAt(NOW, { start: '2026-03-29', end: '2026-03-29', timezone: 'Europe/Berlin' });
    expect(spring).toHaveLength(23);
    expect(spring.slice(1, 3)).toEqual(['2026-03-29T01:00:00.000+0100', '2026-03-29T03:00:00.000+0200']);
  });

  test('a clock change by half an hour splits its hour into two buckets', () => {
    const autumn = startsAt(NOW, { start: '2026-04-05', end: '2026-04-05', timezone: 'Australia/Lord_Howe' });
    expect(autumn.slice(0, 4)).toEqual([
      '2026-04-05T00:00:00.000+1100',
      '2026-04-05T01:00:00.000+1100',
      '2026-04-05T01:30:00.000+1030',
      '2026-04-05T02:00:00.000+1030',
    ]);
    const spring = startsAt(NOW, { start: '2026-10-04', end: '2026-10-04', timezone: 'Australia/Lord_Howe' });
    expect(spring.slice(1, 4)).toEqual([
      '2026-10-04T01:00:00.000+1030',
      '2026-10-04T02:30:00.000+1100',
      '2026-10-04T03:00:00.000+1100',
    ]);
  });

  test('days start at local midnight before and after a clock change', () => {
    const starts = startsAt(NOW, { start: '2026-10-23', end: '2026-10-27', timezone: 'Europe/Berlin' });
    expect(starts.map((start) => start.slice(-5))).toEqual(['+0200', '+0200', '+0200', '+0100', '+0100']);
    expect(starts.every((start) => start.includes('T00:00:00.000'))).toBe(true);
  });

  test('a day without midnight starts at the clock change, and a skipped day has no bucket', () => {
    const cairo = startsAt(NOW, { start: '2026-04-22', end: '2026-04-26', timezone: 'Africa/Cairo' });
    expect(cairo[2]).toBe('2026-04-24T01:00:00.000+0300');
    const apia = startsAt(NOW, { start: '2011-12-27', end: '2012-01-01', timezone: 'Pacific/Apia' });
    expect(apia.map((start) => start.slice(8, 10))).toEqual(['27', '28', '29', '31', '01']);
  });
});

test('starts ascend, without gaps longer than a bucket', () => {
  const days = fc.integer({ min: Date.UTC(2024, 0, 1) / DAY_MS, max: Date.UTC(2027, 11, 31) / DAY_MS });
  fc.assert(
    fc.property(zones, days, fc.integer({ min: 0, max: 400 }), (timezone, first, length) => {
      const [start, end] = [first, first + length].map((day) => new Date(day * DAY_MS).toISOString().slice(0, 10));
      const starts = startsAt(NOW, { start: start!, end: end!, timezone });
      const instants = starts.map((text) => Date.parse(text.replace(/(\d\d)$/, ':$1')));
      expect(instants).toEqual([...new Set(instants)].sort((a, b) => a - b));
      const unit = length <= 2 ? 3_600_000 : length > 180 ? 31 * DAY_MS : DAY_MS;
      const gaps = instants.slice(1).map((instant, index) => instant - instants[index]!);
      expect(Math.max(0, ...gaps)).toBeLessThanOrEqual(unit === 3_600_000 ? unit : unit + 3_600_000);
    }),
    { numRuns: 300 },
  );
});
