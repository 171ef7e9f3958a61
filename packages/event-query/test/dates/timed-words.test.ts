import { expect, test } from 'vitest';
import { parseTimeRange } from '../../src/dates/time-range.js';

/** Saturday, 14:30 in UTC, 09:30 in New York, 20:00 in Kolkata, whose UTC offset is not a whole number of hours. */
const NOW = Date.parse('2026-11-21T14:30:15.250Z');

function rangeOf(text: string, timezone: string) {
  const { fromMs = 0, toMs } = parseTimeRange({ start: text, end: text, timezone }, NOW);
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return from === to ? from : `${from}/${to}`;
}

test.each([
  ['2026-03-04 12:00 UTC', 'America/New_York', '2026-03-04T12:00:00.000Z'],
  ['2026-03-04 12:00 gmt', 'UTC', '2026-03-04T12:00:00.000Z'],
  ['2026-03-04T12:30:00 +01:00', 'UTC', '2026-03-04T11:30:00.000Z'],
  ['2026-03-04T12:30:00 Z', 'UTC', '2026-03-04T12:30:00.000Z'],
  ['2026-03-04 12:30:00 +0530', 'UTC', '2026-03-04T07:00:00.000Z'],
  ['2026-03-04 12:30 UTC+1', 'UTC', '2026-03-04T11:30:00.000Z'],
  ['2026-03-04 12:30 PST', 'UTC', '2026-03-04T20:30:00.000Z'],
  ['2026-03-04T12:30 pst', 'Asia/Kolkata', '2026-03-04T20:30:00.000Z'],
  ['2026-03-04T12:30:00.5  CET', 'Asia/Kolkata', '2026-03-04T11:30:00.500Z'],
  ['2026/03/04 5pm cet', 'UTC', '2026-03-04T16:00:00.000Z'],
  ['13:00 UTC', 'America/New_York', '2026-11-21T13:00:00.000Z'],
  ['yesterday 12:30pm EST', 'Asia/Kolkata', '2026-11-20T17:30:00.000Z'],
  ['5 jan 2026 14:00 PST', 'UTC', '2026-01-05T22:00:00.000Z'],
])('a time with an explicit zone ignores the zone of the request: %s in %s', (text, timezone, expected) => {
  expect(rangeOf(text, timezone)).toBe(expected);
});

test.each([
  ...[
    ['WET', 0],
    ['WEST', 1],
    ['CET', 1],
    ['CEST', 2],
    ['EET', 2],
    ['EEST', 3],
  ],
  ...[
    ['EST', -5],
    ['EDT', -4],
    ['CST', -6],
    ['CDT', -5],
    ['MST', -7],
    ['MDT', -6],
    ['PST', -8],
    ['PDT', -7],
  ],
] as [string, number][])('the clocks of %s are %i hours ahead of UTC', (name, hours) => {
  const expected = new Date(Date.UTC(2026, 6, 4, 12 - hours, 30)).toISOString();
  expect(rangeOf(`2026-07-04T12:30 ${name}`, 'Asia/Kolkata')).toBe(expected);
  expect(rangeOf(`4 jul 2026 12:30 ${name}`, 'Asia/Kolkata')).toBe(expected);
});

test.each([
  ['2026-03-04  12:30', '2026-03-04T12:30:00.000Z'],
  ['2026-03-04 \t12:30:15', '2026-03-04T12:30:15.000Z'],
  ['2026-03-04T12:30:00  +01:00', '2026-03-04T11:30:00.000Z'],
  ['2026-03-04  12:30:00   Z', '2026-03-04T12:30:00.000Z'],
  ['2026-03-04 9:30', '2026-03-04T09:30:00.000Z'],
  ['2026-03-04T9:30:05.250', '2026-03-04T09:30:05.250Z'],
  ['2026-03-04 9:30 +01:00', '2026-03-04T08:30:00.000Z'],
  ['2026-3-4 9:30', '2026-03-04T09:30:00.000Z'],
  ['2026-3-14T12:30Z', '2026-03-14T12:30:00.000Z'],
])('an ISO time is UTC in every zone, however many spaces or digits it has: %j', (text, expected) => {
  for (const timezone of ['UTC', 'America/New_York', 'Asia/Kolkata']) expect(rangeOf(text, timezone)).toBe(expected);
});

test.each([
  ['this morning', '2026-11-21T06:00:00.000Z'],
  ['noon', '2026-11-21T12:00:00.000Z'],
  ['tomorrow afternoon', '2026-11-22T15:00:00.000Z'],
  ['yesterday evening', '2026-11-20T20:00:00.000Z'],
  ['tonight', '2026-11-21T22:00:00.000Z'],
])('a part of the day is its hour: %s', (text, expected) => {
  expect(rangeOf(text, 'UTC')).toBe(expected);
});

test.each([
  ['last month at 5pm', 'UTC', '2026-10-21T17:00:00.000Z'],
  ['last month at 5pm', 'America/New_York', '2026-10-21T21:00:00.000Z'],
  ['last week at 17:00', 'UTC', '2026-11-14T17:00:00.000Z'],
  ['noon last year', 'UTC', '2025-11-21T12:00:00.000Z'],
  ['next month at 9:00', 'UTC', '2026-12-21T09:00:00.000Z'],
  ['0am', 'America/New_York', '2026-11-21T05:00:00.000Z'],
  ['yesterday at 00:00', 'UTC', '2026-11-20T00:00:00.000Z'],
])('a time on a relative day: %s in %s', (text, timezone, expected) => {
  expect(rangeOf(text, timezone)).toBe(expected);
});

test.each([
  ['this hour', 'UTC', '2026-11-21T14:00:00.000Z/2026-11-21T14:59:59.999Z'],
  ['current hour', 'Asia/Kolkata', '2026-11-21T14:30:00.000Z/2026-11-21T15:29:59.999Z'],
  ['this minute', 'UTC', '2026-11-21T14:30:00.000Z/2026-11-21T14:30:59.999Z'],
  ['start of hour', 'UTC', '2026-11-21T14:00:00.000Z'],
  ['end of this hour', 'UTC', '2026-11-21T14:59:59.999Z'],
  ['last half hour', 'UTC', '2026-11-21T14:00:15.250Z/2026-11-21T14:30:15.250Z'],
  ['past half an hour', 'UTC', '2026-11-21T14:00:15.250Z/2026-11-21T14:30:15.250Z'],
  ['half hour ago', 'UTC', '2026-11-21T14:00:15.250Z'],
  ['last 24h', 'UTC', '2026-11-20T14:30:15.250Z/2026-11-21T14:30:15.250Z'],
])('hours and minutes: %s in %s', (text, timezone, expected) => {
  expect(rangeOf(text, timezone)).toBe(expected);
});

test.each([
  ['this day last year', '2025-11-21'],
  ['this day last month', '2026-10-21'],
  ['same day last week', '2026-11-14'],
  ['the same day last quarter', '2026-08-21'],
  ['today last year', '2025-11-21'],
  ['first of month', '2026-11-01'],
  ['first of the month', '2026-11-01'],
  ['the last of february 2028', '2028-02-29'],
  ['first of last month', '2026-10-01'],
])('%s is a day', (text, day) => {
  expect(rangeOf(text, 'UTC')).toBe(`${day}T00:00:00.000Z/${day}T23:59:59.999Z`);
});

test.each([
  ...['2026-03-04 12:30 IST', '2026-03-04 12:30 BST', 'yesterday utc', 'utc', '12:30 toString', '12:30 constructor'],
  ...[
    'this month at 5pm',
    '2 weeks at 5pm',
    'last month at 5',
    'midnight',
    'today at 5',
    'this day',
    'half',
    'last half',
  ],
  ...[
    '2026-03-04T12:30:00 +24:00',
    '2026-03-04T12:30:00 + 1',
    '2026-03-04 +01:00',
    '13am',
    'first of',
    'start of half hour',
  ],
])('%s is refused', (text) => {
  expect(() => parseTimeRange({ start: text }, NOW)).toThrow(/^invalid_format: start: /);
});

test.each([
  ['2026-03-04T12:30:00 01:00', true],
  ['2026-03-04 12:30 0530', true],
  ['2026-03-04T12:30:00 + 1', false],
  ['2026-03-04T12:30:00 1', false],
  ['2026-03-04 01:00 x', false],
])('%s is refused, with a hint at %%2B: %s', (text, hasHint) => {
  const message = hasHint ? /Q1 2026; the \+ of an offset is written %2B in a query$/ : /Q1 2026$/;
  expect(() => parseTimeRange({ start: text }, NOW)).toThrow(message);
});
