import { ApiError } from '@waymark/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseNaturalDate } from '../src/natural-date.js';
import { parseTimeRange } from '../src/time-range.js';
import { DAY_MS } from '../src/zone.js';

/** Saturday, 14:30 in UTC. */
const NOW = Date.parse('2026-11-21T14:30:00.250Z');

/** `2026-11-20` for a day, `2026-11-20T17:00:00.000Z` for an instant. */
function meaning(text: string, nowMs = NOW): string | undefined {
  const date = parseNaturalDate(text, nowMs);
  if (date === undefined) return undefined;
  return date.type === 'day' ? new Date(date.midnightMs).toISOString().slice(0, 10) : new Date(date.ms).toISOString();
}

describe('a phrase without a time is a whole day', () => {
  test.each([
    ['today', '2026-11-21'],
    ['  Yesterday ', '2026-11-20'],
    ['TOMORROW', '2026-11-22'],
    ['7 days ago', '2026-11-14'],
    ['a day ago', '2026-11-20'],
    ['two  weeks ago', '2026-11-07'],
    ['1 month ago', '2026-10-21'],
    ['12 months ago', '2025-11-21'],
    ['3 years ago', '2023-11-21'],
    ['in 3 days', '2026-11-24'],
    ['in a month', '2026-12-21'],
    ['two weeks from now', '2026-12-05'],
    ['last monday', '2026-11-16'],
    ['last Friday', '2026-11-20'],
    ['last saturday', '2026-11-14'],
    ['last sun', '2026-11-15'],
    ['March 4, 2026', '2026-03-04'],
    ['4 march 2026', '2026-03-04'],
    ['4th of Mar 2026', '2026-03-04'],
    ['feb 29th 2024', '2024-02-29'],
  ])('%s', (text, day) => {
    expect(meaning(text)).toBe(day);
  });

  test.each([
    ['America/Los_Angeles', '2026-11-21T02:00:00Z', '2026-11-20T08:00:00.000Z'],
    ['Asia/Tokyo', '2026-11-21T20:00:00Z', '2026-11-19T15:00:00.000Z'],
  ])('which day it is is said in UTC, when it begins in the zone: %s', (timezone, now, from) => {
    const { fromMs, toMs } = parseTimeRange({ start: 'yesterday', end: 'yesterday', timezone }, Date.parse(now));
    expect(new Date(fromMs ?? 0).toISOString()).toBe(from);
    expect(toMs).toBe(Date.parse(from) + DAY_MS - 1);
  });
});

describe('a phrase with a time is exact', () => {
  test.each([
    ['now', '2026-11-21T14:30:00.250Z'],
    ['3 hours ago', '2026-11-21T11:30:00.250Z'],
    ['ninety minutes ago', undefined],
    ['90 minutes ago', '2026-11-21T13:00:00.250Z'],
    ['a second ago', '2026-11-21T14:29:59.250Z'],
    ['in 2 hours', '2026-11-21T16:30:00.250Z'],
    ['30 minutes from now', '2026-11-21T15:00:00.250Z'],
    ['yesterday at 5pm', '2026-11-20T17:00:00.000Z'],
    ['yesterday at 5:30 pm', '2026-11-20T17:30:00.000Z'],
    ['yesterday 17:30', '2026-11-20T17:30:00.000Z'],
    ['last monday at noon', '2026-11-16T12:00:00.000Z'],
    ['today at 12am', '2026-11-21T00:00:00.000Z'],
    ['Mar 4 2026 at 12:30:15', '2026-03-04T12:30:15.000Z'],
  ])('%s', (text, instant) => {
    expect(meaning(text)).toBe(instant);
  });

  test('whatever the zone', () => {
    const range = { start: 'yesterday at 5pm', end: 'now', timezone: 'Asia/Kolkata' };
    expect(parseTimeRange(range, NOW).fromMs).toBe(Date.parse('2026-11-20T17:00:00Z'));
  });
});

test('a month is taken back to the same day, or to the last one there is', () => {
  expect(meaning('1 month ago', Date.parse('2026-03-31T12:00:00Z'))).toBe('2026-02-28');
  expect(meaning('1 year ago', Date.parse('2024-02-29T12:00:00Z'))).toBe('2023-02-28');
  expect(meaning('in 1 month', Date.parse('2026-01-31T12:00:00Z'))).toBe('2026-02-28');
});

test.each([
  ...[
    '',
    ' ',
    'soon',
    'monday',
    'this monday',
    'next monday',
    'last month',
    'last week',
    'last year',
    'first day of last month',
  ],
  ...[
    'march 4',
    'march 2026',
    '4 2026',
    '03/04/2026',
    '3.4.2026',
    '2026',
    '1772600000',
    '1772600000000',
    '5pm',
    'at 5pm',
  ],
  ...[
    'yesterday at 5',
    'yesterday at 25:00',
    'yesterday at 13pm',
    'yesterday at 0:30am',
    'yesterday at 12:60',
    'yesterday midnight',
  ],
  ...[
    'february 30 2026',
    'feb 29 2025',
    'march 0 2026',
    'march 32 2026',
    '31 april 2026',
    'march 4 0026',
    'december 31 1969',
  ],
  ...[
    '9999 years ago',
    '99999 days ago',
    '-7 days ago',
    '7.5 days ago',
    '7 days',
    '7 days ago at 5pm',
    '7 fortnights ago',
  ],
  ...[
    'yesterday or today',
    'today - tomorrow',
    'yesterday to today',
    'from yesterday',
    'not yesterday',
    'yesterday yesterday',
  ],
  ...['yesterday; DROP TABLE click_events', "yesterday'", 'yesterday\0', 'вчера', 'gestern', '７ days ago', 'today ('],
])('%j is not understood', (text) => {
  expect(meaning(text)).toBeUndefined();
});

test('the parameter is named when a date is not understood', () => {
  for (const parameter of ['start', 'end']) {
    expect(() => parseTimeRange({ start: 'yesterday', [parameter]: 'last month' }, NOW)).toThrow(
      expect.objectContaining({
        code: 'unprocessable_entity',
        message: expect.stringMatching(new RegExp(`^invalid_format: ${parameter}: `)),
      }),
    );
  }
});

test('days count from one to any number back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 400 * 24 }), (days, pastHours) => {
      const nowMs = NOW - pastHours * 3_600_000;
      const today = Math.floor(nowMs / DAY_MS);
      expect(meaning(`${days} days ago`, nowMs)).toBe(new Date((today - days) * DAY_MS).toISOString().slice(0, 10));
    }),
    { numRuns: 300 },
  );
});

test('any text is read or refused, in an instant', () => {
  const words = fc.constantFrom(
    ...'now|today|yesterday|last|monday|7|days|ago|at|5pm|12:30|march|4|2026|,|of|a|year|month|hours|noon|next|-|/|é|\0'.split(
      '|',
    ),
  );
  const texts = fc.oneof(
    fc.array(words, { maxLength: 12 }).map((parts) => parts.join(' ')),
    fc.string({ unit: 'binary', maxLength: 120 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        const { fromMs, toMs } = parseTimeRange({ start: text, end: 'now' }, NOW);
        expect(Number.isInteger(fromMs) && Number.isInteger(toMs)).toBe(true);
      } catch (err) {
        expect(err).toBeInstanceOf(ApiError);
      }
    }),
    { numRuns: 2000 },
  );
  const start = performance.now();
  for (const piece of ['7 ', 'last ', 'a', '1', ' ', 'yesterday ', 'march 4 2026 ']) {
    expect(() => parseTimeRange({ start: piece.repeat(100_000) }, NOW)).toThrow(ApiError);
  }
  expect(performance.now() - start).toBeLessThan(1000);
});

test('a range of words is whole days, swapped when it is the wrong way round', () => {
  const range = { fromMs: Date.parse('2026-11-14T00:00:00Z'), toMs: Date.parse('2026-11-20T23:59:59.999Z') };
  expect(parseTimeRange({ start: '7 days ago', end: 'yesterday' }, NOW)).toMatchObject(range);
  expect(parseTimeRange({ start: 'yesterday', end: '7 days ago' }, NOW)).toMatchObject(range);
  expect(parseTimeRange({ start: '2 hours ago' }, NOW)).toMatchObject({ fromMs: NOW - 7_200_000, toMs: NOW });
});
