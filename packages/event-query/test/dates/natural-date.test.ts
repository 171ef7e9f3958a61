import { ApiError } from '@waymark/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/dates/calendar.js';
import { parseNaturalDate } from '../../src/dates/natural-date.js';
import { parseTimeRange } from '../../src/dates/time-range.js';
import { zoneOf } from '../../src/dates/zone.js';

/** Saturday, 14:30 in UTC. */
const NOW = Date.parse('2026-11-21T14:30:00.250Z');

/** `2026-11-20` for a day, `2026-11-16/2026-11-22` for more of them, `2026-11-20T17:00:00.000Z` for an instant. */
function meaning(text: string, nowMs = NOW, nearest: 'past' | 'future' = 'past'): string | undefined {
  const date = parseNaturalDate(text, { nowMs, zone: zoneOf('UTC'), nearest });
  const iso = (ms: number) => new Date(ms).toISOString();
  if (date === undefined) return undefined;
  if (date.type === 'instant') return iso(date.ms);
  if (date.type === 'span') return `${iso(date.fromMs)}/${iso(date.toMs)}`;
  const [first, last] = [iso(date.firstMs).slice(0, 10), iso(date.lastMs).slice(0, 10)];
  return first === last ? first : `${first}/${last}`;
}

describe('a phrase without a time is a whole day', () => {
  test.each([
    ['today', '2026-11-21'],
    ['  Yesterday ', '2026-11-20'],
    ['TOMORROW', '2026-11-22'],
    ['the day before yesterday', '2026-11-19'],
    ['7 days ago', '2026-11-14'],
    ['7d ago', '2026-11-14'],
    ['-7 days', '2026-11-14'],
    ['7 days before now', '2026-11-14'],
    ['1mo ago', '2026-10-21'],
    ['1w 3d ago', '2026-11-11'],
    ['in 3d', '2026-11-24'],
    ['+3 days', '2026-11-24'],
    ['a day ago', '2026-11-20'],
    ['two  weeks ago', '2026-11-07'],
    ['a couple of days ago', '2026-11-19'],
    ['a few days ago', '2026-11-18'],
    ['several days ago', '2026-11-14'],
    ['a couple weeks ago', '2026-11-07'],
    ['1w3d ago', '2026-11-11'],
    ['within 3 days', '2026-11-24'],
    ['for 3 days', '2026-11-24'],
    ['in about 3 days', '2026-11-24'],
    ['around 3 days ago', '2026-11-18'],
    ['now - 1 day', '2026-11-20'],
    ['now+1d', '2026-11-22'],
    ['3 days after now', '2026-11-24'],
    ['1 qtr ago', '2026-08-21'],
    ['half a year ago', '2026-05-21'],
    ['1.5 years ago', '2025-05-21'],
    ['in 0.5 quarters', '2027-01-05'],
    ['half a month ago', '2026-11-06'],
    ['1.1 years ago', '2025-10-15'],
    ['2.0 days ago', '2026-11-19'],
    ['half a day and half a day ago', '2026-11-20'],
    ['4 days before yesterday', '2026-11-16'],
    ['2 weeks and 3 days ago', '2026-11-04'],
    ['1 year, 2 months ago', '2025-09-21'],
    ['1 month ago', '2026-10-21'],
    ['2 quarters ago', '2026-05-21'],
    ['12 months ago', '2025-11-21'],
    ['3 years ago', '2023-11-21'],
    ['in 3 days', '2026-11-24'],
    ['in a month', '2026-12-21'],
    ['two weeks from now', '2026-12-05'],
    ['monday', '2026-11-16'],
    ['saturday', '2026-11-21'],
    ['on sunday', '2026-11-15'],
    ['last monday', '2026-11-16'],
    ['last Friday', '2026-11-20'],
    ['last saturday', '2026-11-14'],
    ['last sun', '2026-11-15'],
    ['this friday', '2026-11-20'],
    ['next friday', '2026-11-27'],
    ['next sunday', '2026-11-29'],
    ['friday last week', '2026-11-13'],
    ['jan 5', '2026-01-05'],
    ['5 January', '2026-01-05'],
    ['Jan. 5th', '2026-01-05'],
    ['december 1', '2025-12-01'],
    ['feb 29', '2024-02-29'],
    ['March 4, 2026', '2026-03-04'],
    ['4 march 2026', '2026-03-04'],
    ['4th of Mar 2026', '2026-03-04'],
    ['2026 mar 4', '2026-03-04'],
    ['04-mar-2026', '2026-03-04'],
    ['mar-04-2026', '2026-03-04'],
    ['feb 29th 2024', '2024-02-29'],
    ['Wednesday, 4 March 2026', '2026-03-04'],
    ['fourth of march 2026', '2026-03-04'],
    ['2026/03/04', '2026-03-04'],
    ['2026.3.4', '2026-03-04'],
    ['2026-W10-3', '2026-03-04'],
    ['first day of last month', '2026-10-01'],
    ['the last day of february 2028', '2028-02-29'],
    ['last day of Q1', '2026-03-31'],
  ])('%s', (text, day) => {
    expect(meaning(text)).toBe(day);
  });

  test.each([
    ['America/Los_Angeles', '2026-11-21T02:00:00Z', '2026-11-19T08:00:00.000Z'],
    ['Asia/Tokyo', '2026-11-21T20:00:00Z', '2026-11-20T15:00:00.000Z'],
  ])('the day is determined in the zone: %s', (timezone, now, from) => {
    const { fromMs, toMs } = parseTimeRange({ start: 'yesterday', end: 'yesterday', timezone }, Date.parse(now));
    expect(new Date(fromMs ?? 0).toISOString()).toBe(from);
    expect(toMs).toBe(Date.parse(from) + DAY_MS - 1);
  });
});

describe('a period includes all of its days', () => {
  test.each([
    ['this week', '2026-11-16/2026-11-22'],
    ['last week', '2026-11-09/2026-11-15'],
    ['next week', '2026-11-23/2026-11-29'],
    ['weekend', '2026-11-21/2026-11-22'],
    ['last weekend', '2026-11-14/2026-11-15'],
    ['this month', '2026-11-01/2026-11-30'],
    ['Last Month', '2026-10-01/2026-10-31'],
    ['previous quarter', '2026-07-01/2026-09-30'],
    ['last year', '2025-01-01/2025-12-31'],
    ['january', '2026-01-01/2026-01-31'],
    ['november', '2026-11-01/2026-11-30'],
    ['dec', '2025-12-01/2025-12-31'],
    ['last november', '2025-11-01/2025-11-30'],
    ['next january', '2027-01-01/2027-01-31'],
    ['jan 2026', '2026-01-01/2026-01-31'],
    ['february, 2028', '2028-02-01/2028-02-29'],
    ['2026-03', '2026-03-01/2026-03-31'],
    ['3/2026', '2026-03-01/2026-03-31'],
    ['2026', '2026-01-01/2026-12-31'],
    ['Q1', '2026-01-01/2026-03-31'],
    ['Q1 2025', '2025-01-01/2025-03-31'],
    ['2025 Q4', '2025-10-01/2025-12-31'],
    ['2025-Q4', '2025-10-01/2025-12-31'],
    ['first quarter of 2025', '2025-01-01/2025-03-31'],
    ['2026-W01', '2025-12-29/2026-01-04'],
    ['2026-W10', '2026-03-02/2026-03-08'],
    ['2026W53', '2026-12-28/2027-01-03'],
    ['week 10 of 2026', '2026-03-02/2026-03-08'],
    ['last 7 days', '2026-11-14T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['past week', '2026-11-14T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last 24 hours', '2026-11-20T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last 24h', '2026-11-20T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['past 1d', '2026-11-20T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last 3mo', '2026-08-21T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last 1y', '2025-11-21T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last hour', '2026-11-21T13:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last 2h30m', '2026-11-21T12:00:00.250Z/2026-11-21T14:30:00.250Z'],
    ['past 1.5 days', '2026-11-20T02:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['last several days', '2026-11-14T14:30:00.250Z/2026-11-21T14:30:00.250Z'],
    ['this second', '2026-11-21T14:30:00.000Z/2026-11-21T14:30:00.999Z'],
    ['next 3 months', '2026-11-21T14:30:00.250Z/2027-02-21T14:30:00.250Z'],
  ])('%s', (text, days) => {
    expect(meaning(text)).toBe(days);
  });

  test('the last 7 days begin at the same time as the interval 7d', () => {
    const timezone = 'Europe/Berlin';
    const nowMs = Date.parse('2026-03-30T10:00:00Z');
    const { fromMs } = parseTimeRange({ interval: '7d', timezone }, nowMs);
    expect(parseTimeRange({ start: 'last 7 days', timezone }, nowMs).fromMs).toBe(fromMs);
  });
});

test.each([
  ['friday', '2026-11-27'],
  ['saturday', '2026-11-28'],
  ['november', '2026-11-01/2026-11-30'],
  ['january', '2027-01-01/2027-01-31'],
  ['jan 5', '2027-01-05'],
  ['feb 29', '2028-02-29'],
  ['Q1', '2027-01-01/2027-03-31'],
  ['jan 5 2026', '2026-01-05'],
  ['last friday', '2026-11-20'],
])('resolved to the next occurrence, %s is %s', (text, day) => {
  expect(meaning(text, NOW, 'future')).toBe(day);
});

describe('a phrase with a time is exact', () => {
  test.each([
    ['now', '2026-11-21T14:30:00.250Z'],
    ['3 hours ago', '2026-11-21T11:30:00.250Z'],
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
    ['friday, 5pm', '2026-11-20T17:00:00.000Z'],
    ['5 p.m. on jan 5', '2026-01-05T17:00:00.000Z'],
    ['2026-03-04 5pm', '2026-03-04T17:00:00.000Z'],
    ['5pm', '2026-11-21T17:00:00.000Z'],
    ['at 17:30', '2026-11-21T17:30:00.000Z'],
    ['10 days ago at 5pm', '2026-11-11T17:00:00.000Z'],
    ['this morning', '2026-11-21T06:00:00.000Z'],
    ['yesterday evening', '2026-11-20T20:00:00.000Z'],
    ['tonight', '2026-11-21T22:00:00.000Z'],
    ['last night', '2026-11-20T22:00:00.000Z'],
    ['half an hour ago', '2026-11-21T14:00:00.250Z'],
    ['in 1.5 hours', '2026-11-21T16:00:00.250Z'],
    ['a few hours ago', '2026-11-21T11:30:00.250Z'],
    ['several hours ago', '2026-11-21T07:30:00.250Z'],
    ['a couple hours ago', '2026-11-21T12:30:00.250Z'],
    ['2h30m ago', '2026-11-21T12:00:00.250Z'],
    ['1d2h ago', '2026-11-20T12:30:00.250Z'],
    ['1h30m15s ago', '2026-11-21T12:59:45.250Z'],
    ['1.5 days ago', '2026-11-20T02:30:00.250Z'],
    ['-1.5d', '2026-11-20T02:30:00.250Z'],
    ['7.5 days ago', '2026-11-14T02:30:00.250Z'],
    ['half a day ago', '2026-11-21T02:30:00.250Z'],
    ['1.5 weeks ago', '2026-11-11T02:30:00.250Z'],
    ['in half a week', '2026-11-25T02:30:00.250Z'],
    ['1.5 minutes ago', '2026-11-21T14:28:30.250Z'],
    ['2.5 seconds ago', '2026-11-21T14:29:57.750Z'],
    ['1.125 hours ago', '2026-11-21T13:22:30.250Z'],
    ['86400 seconds ago', '2026-11-20T14:30:00.250Z'],
    ['within 2 hours', '2026-11-21T16:30:00.250Z'],
    ['about 3 hours ago', '2026-11-21T11:30:00.250Z'],
    ['in just 3 hours', '2026-11-21T17:30:00.250Z'],
    ['now - 2 hours', '2026-11-21T12:30:00.250Z'],
    ['now + 2h30m', '2026-11-21T17:00:00.250Z'],
    ['after 3 hours', '2026-11-21T17:30:00.250Z'],
    ['3 hours after now', '2026-11-21T17:30:00.250Z'],
    ['an hour and 30 minutes ago', '2026-11-21T13:00:00.250Z'],
    ['start of month', '2026-11-01T00:00:00.000Z'],
    ['end of month', '2026-11-30T23:59:59.999Z'],
    ['beginning of last year', '2025-01-01T00:00:00.000Z'],
    ['end of q1 2026', '2026-03-31T23:59:59.999Z'],
    ['end of the week', '2026-11-22T23:59:59.999Z'],
    ['start of yesterday', '2026-11-20T00:00:00.000Z'],
    ['Sat Nov 21 2026 18:40:39 GMT+0900 (JST)', '2026-11-21T09:40:39.000Z'],
    ['Sat Nov 21 2026 18:40:39 GMT+0900 (Japan Standard Time)', '2026-11-21T09:40:39.000Z'],
    ['Sat Nov 21 2026 18:40:39 GMT+0000 (Coordinated Universal Time)', '2026-11-21T18:40:39.000Z'],
    ['Sat Nov 21 2026 18:40:39 GMT+0100 (Mitteleuropäische Normalzeit)', '2026-11-21T17:40:39.000Z'],
    ['Sat Nov 21 2026 18:40:39 GMT-0330 (GMT-03:30)', '2026-11-21T22:10:39.000Z'],
    ['Wed, 04 Mar 2026 10:00:00 GMT', '2026-03-04T10:00:00.000Z'],
    ['5 jan 2026 10:00 EST', '2026-01-05T15:00:00.000Z'],
  ])('%s', (text, instant) => {
    expect(meaning(text)).toBe(instant);
  });

  test('in the zone of the request', () => {
    const timezone = 'Asia/Kolkata';
    const start = (text: string) => parseTimeRange({ start: text, end: 'now', timezone }, NOW).fromMs;
    expect(start('yesterday at 5pm')).toBe(Date.parse('2026-11-20T11:30:00Z'));
    expect(start('fifth of january 2026, 17:30')).toBe(Date.parse('2026-01-05T12:00:00Z'));
    expect(start('3 hours ago')).toBe(NOW - 3 * 3_600_000);
  });
});

test('a month ago is the same day, or the last day of a shorter month', () => {
  expect(meaning('1 month ago', Date.parse('2026-03-31T12:00:00Z'))).toBe('2026-02-28');
  expect(meaning('1 year ago', Date.parse('2024-02-29T12:00:00Z'))).toBe('2023-02-28');
  expect(meaning('in 1 month', Date.parse('2026-01-31T12:00:00Z'))).toBe('2026-02-28');
});

test.each([
  ...['', ' ', 'soon', 'ago', 'last', 'of', 'days', '7 days', 'month', 'the', 'start of', 'end of soon', 'christmas'],
  ...['4 2026', '1772600000', '1772600000000', '20260304', '26', '0', '1969', '0026', '10000'],
  ...[
    '2026-13',
    '2026-00',
    '2026-13-04',
    '2026-02-30',
    '2026-1-32',
    '2025-W53',
    '2026-W00',
    '2026-W10-8',
    'Q5',
    'Q0 2026',
  ],
  ...['yesterday at 5', 'yesterday at 25:00', 'yesterday at 13pm', 'yesterday at 12:60'],
  ...[
    'midnight',
    'yesterday midnight',
    '3 days before last month',
    'january 17:30',
    'now at 5pm',
    '3 hours ago at 5pm',
  ],
  ...['february 30 2026', 'feb 29 2025', 'feb 30', 'march 0 2026', 'march 32 2026', '31 april 2026', 'march 4 0026'],
  ...[
    'december 31 1969',
    '9999 years ago',
    '99999 days ago',
    'in 9999 years',
    '-7 days ago',
    '999999999 days ago',
    '999999999 hours ago',
    'next 999999999 hours',
    '7 fortnights ago',
    '1.5.5 days ago',
    '2hm ago',
    'half ago',
    'last hours',
    'after this week',
  ],
  ...['Tuesday, 4 March 2026', '20 nov 2026 bc', '5 jan 2026 10:00 IST', '5 jan 2026 10:00 BST'],
  ...[
    '2 hours before yesterday',
    '5pm + 3 hours',
    '3 hours after 5pm',
    'yesterday or today',
    'today - tomorrow',
    'yesterday to today',
    'jan 5 - jan 7',
  ],
  ...['from yesterday', 'not yesterday', 'yesterday yesterday', 'first day of last', 'first of first day of month'],
  ...['yesterday; DROP TABLE click_events', "yesterday'", 'yesterday\0', 'вчера', 'gestern', '７ days ago', 'today ('],
])('%j is not understood', (text) => {
  expect(meaning(text)).toBeUndefined();
});

test('the error for an invalid date has the name of the parameter', () => {
  for (const parameter of ['start', 'end']) {
    expect(() => parseTimeRange({ start: 'yesterday', [parameter]: 'next life' }, NOW)).toThrow(
      expect.objectContaining({
        code: 'unprocessable_entity',
        message: expect.stringMatching(new RegExp(`^invalid_format: ${parameter}: `)),
      }),
    );
  }
});

test('any number of days ago is that many days before today', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 400 * 24 }), (days, pastHours) => {
      const nowMs = NOW - pastHours * 3_600_000;
      const today = Math.floor(nowMs / DAY_MS);
      expect(meaning(`${days} days ago`, nowMs)).toBe(new Date((today - days) * DAY_MS).toISOString().slice(0, 10));
    }),
    { numRuns: 300 },
  );
});

test('any text is parsed or refused', () => {
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
});

test('a date of more than 100 characters is refused because of its length', () => {
  for (const piece of ['7 ', 'last ', 'a', '1', ' ', 'yesterday ', 'march 4 2026 ', '1/']) {
    expect(() => parseTimeRange({ start: piece.repeat(101) }, NOW)).toThrow(/^too_big: start: .*100 characters/);
  }
});

test.each(['03/04/2026', '3.4.2026', '03-04-26', '3/4', '31/12/2026', '12/31/2026', '12/31/2026 5pm', 'on 3/4/2026'])(
  'an ambiguous order of day and month is refused with examples of valid forms: %s',
  (text) => {
    expect(() => parseTimeRange({ start: text }, NOW)).toThrow(/^invalid_format: start: .*2026-03-04.* 4 mar 2026/);
  },
);

test('a range in words consists of whole days, and may be reversed', () => {
  const range = { fromMs: Date.parse('2026-11-14T00:00:00Z'), toMs: Date.parse('2026-11-20T23:59:59.999Z') };
  expect(parseTimeRange({ start: '7 days ago', end: 'yesterday' }, NOW)).toMatchObject(range);
  expect(parseTimeRange({ start: 'yesterday', end: '7 days ago' }, NOW)).toMatchObject(range);
  expect(parseTimeRange({ start: '2 hours ago' }, NOW)).toMatchObject({ fromMs: NOW - 7_200_000, toMs: NOW });
});
