import { en } from 'chrono-node';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parseInstant } from '../../src/dates/instant.js';
import { parseTimeRange } from '../../src/dates/time-range.js';

// Relative dates that the library chrono-node accepts are accepted by our parser, with the same meaning.

/** Noon, because the library returns noon for days. */
const NOW = Date.parse('2026-11-21T12:00:00Z');

const COUNTS = [
  '0',
  '1',
  '2',
  'a',
  'an',
  'one',
  'twelve',
  'few',
  'a few',
  'several',
  'couple',
  'a couple of',
  'about 3',
];
const UNITS = [
  ...['s', 'sec', 'second', 'seconds', 'm', 'min', 'mins', 'minute', 'minutes', 'h', 'hr', 'hrs', 'hour', 'hours'],
  ...['d', 'day', 'days', 'w', 'week', 'weeks', 'mo', 'mon', 'mos', 'month', 'months', 'qtr', 'quarter', 'quarters'],
  ...['y', 'yr', 'year', 'years'],
];
const FRACTIONS = [
  'half an hour',
  'half a day',
  'half a year',
  '1.5 seconds',
  '1.5 min',
  '1.5h',
  '1.5 days',
  '2.5 years',
];
const SUMS = ['2h30m', '2 hours 30 minutes', '1d2h', '1 day, 2 hours', '1 day and 2h', '1y2mo', '1.5h30m'];
const AMOUNTS = [...COUNTS.flatMap((count) => UNITS.map((unit) => `${count} ${unit}`)), ...FRACTIONS, ...SUMS];

const PAST = ['_ ago', '_ before', '_ earlier', '_ before now', '- _', 'now -_'];
const FUTURE = [
  ...[
    '_ later',
    '_ after',
    '_ from now',
    '_ after now',
    '_ henceforth',
    '_ forward',
    '_ out',
    '+ _',
    'now +_',
    'after _',
  ],
  ...['in _', 'within _', 'for _', 'in about _', 'in around _', 'in roughly _', 'in approximately _', 'in just _'],
];

// The library uses the time zone of the machine.
beforeEach(() => {
  vi.stubEnv('TZ', 'UTC');
  expect(new Date(NOW).getTimezoneOffset()).toBe(0);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function libraryReading(phrase: string): number {
  const [result, ...others] = en.casual.parse(phrase, { instant: new Date(NOW), timezone: 0 });
  expect([result?.text, others]).toEqual([phrase, []]);
  return result?.start.date().getTime() ?? Number.NaN;
}

test.each([...PAST, ...FUTURE])('%s', (form) => {
  for (const amount of AMOUNTS) {
    const phrase = form.replace('_', amount);
    expect([phrase, parseInstant('expiresAt', phrase, NOW)]).toEqual([phrase, libraryReading(phrase)]);
  }
});

test.each([
  ['last', 'fromMs'],
  ['past', 'fromMs'],
  ['next', 'toMs'],
] as const)('%s _', (side, edge) => {
  for (const amount of AMOUNTS) {
    const phrase = `${side} ${amount}`;
    const range = parseTimeRange({ start: phrase, end: phrase }, NOW);
    expect([phrase, range[edge]]).toEqual([phrase, libraryReading(phrase)]);
  }
});
