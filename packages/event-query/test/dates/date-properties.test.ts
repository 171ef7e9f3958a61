import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { parseTimeRange } from '../../src/dates/time-range.js';
import { dayAt, firstInstantOf, lastInstantOf, monthName, seek, walk, weekdayName } from './calendar-oracle.js';

/** Clock changes by zone. The zones have offsets of whole, half and quarter hours, and changes by 30 and 60 minutes, some at midnight. */
const CLOCK_CHANGES: Readonly<Record<string, readonly string[]>> = {
  UTC: [],
  'Asia/Kolkata': [],
  'Asia/Kathmandu': [],
  'Pacific/Kiritimati': [],
  'Europe/Berlin': ['2026-03-29T01:00Z', '2026-10-25T01:00Z'],
  'America/New_York': ['2026-03-08T07:00Z', '2026-11-01T06:00Z'],
  'America/St_Johns': ['2026-03-08T05:30Z', '2026-11-01T04:30Z'],
  'Australia/Lord_Howe': ['2026-04-04T15:00Z', '2026-10-03T15:30Z'],
  'America/Santiago': ['2026-04-05T03:00Z', '2026-09-06T04:00Z'],
  'Africa/Cairo': ['2026-04-23T22:00Z', '2026-10-29T21:00Z'],
};
const HOUR_MS = 3_600_000;
const NEW_YEAR = new Date(Date.UTC(2026, 0, 1));
/** Zones of the machine, each with its offset at the new year in minutes, which shows that the zone is set. */
const MACHINES = [
  ['UTC', 0],
  ['America/New_York', 300],
  ['Europe/Berlin', -60],
  ['America/Santiago', 180],
] as const;

const anyInstant = fc.integer({ min: Date.UTC(2012, 0, 1), max: Date.UTC(2035, 0, 1) });
/** A zone and a current time, often close to a clock change. */
const contexts = fc.constantFrom(...Object.entries(CLOCK_CHANGES)).chain(([zone, changes]) => {
  const away = fc.integer({ min: -26 * HOUR_MS, max: 26 * HOUR_MS });
  const nearChanges = changes.map((change) => away.map((ms) => Date.parse(change) + ms));
  return fc.record({ zone: fc.constant(zone), nowMs: fc.oneof(anyInstant, ...nearChanges) });
});

type DayRange = readonly [first: string, last: string];
type Case = readonly [words: string, days: (today: string) => DayRange];

const isFirstOfMonth = (day: string) => day.endsWith('-01');
const isFirstOfQuarter = (day: string) => /-(?:01|04|07|10)-01$/.test(day);
const isFirstOfYear = (day: string) => day.endsWith('-01-01');
const isMonday = (day: string) => weekdayName(day) === 'Monday';

/** The period that contains a day, or the previous or next one; `isFirst` identifies the first days of periods. */
function around(day: string, isFirst: (day: string) => boolean, offset: -1 | 0 | 1): DayRange {
  const first = seek(day, -1, isFirst);
  if (offset === -1) return around(walk(first, -1), isFirst, 0);
  const next = seek(walk(first, 1), 1, isFirst);
  return offset === 1 ? around(next, isFirst, 0) : [first, walk(next, -1)];
}

const one = (day: string): DayRange => [day, day];
const UNITS = { week: isMonday, month: isFirstOfMonth, quarter: isFirstOfQuarter, year: isFirstOfYear };
const OFFSETS = { last: -1, previous: -1, this: 0, current: 0, next: 1 } as const;
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const MONTHS = Array.from({ length: 12 }, (_, index) => monthName(`2026-${String(index + 1).padStart(2, '0')}-01`));

const units = fc
  .tuple(fc.constantFrom(...Object.entries(OFFSETS)), fc.constantFrom(...Object.entries(UNITS)))
  .map(([[which, offset], [unit, isFirst]]): Case => [`${which} ${unit}`, (today) => around(today, isFirst, offset)]);
const counted = fc
  .tuple(fc.integer({ min: 0, max: 400 }), fc.constantFrom(-1 as const, 1 as const))
  .map(
    ([days, sign]): Case => [
      sign < 0 ? `${days} days ago` : `in ${days} days`,
      (today) => one(walk(today, sign * days)),
    ],
  );
const weekdays = fc.constantFrom(...WEEKDAYS).chain((name) => {
  const index = WEEKDAYS.indexOf(name);
  const ofWeek = (offset: -1 | 0 | 1) => (today: string) => one(walk(around(today, isMonday, offset)[0], index));
  return fc.constantFrom<Case[]>(
    [name, (today) => one(seek(today, -1, (day) => weekdayName(day) === name))],
    [name.slice(0, 3), (today) => one(seek(today, -1, (day) => weekdayName(day) === name))],
    [`last ${name}`, (today) => one(seek(walk(today, -1), -1, (day) => weekdayName(day) === name))],
    [`this ${name}`, ofWeek(0)],
    [`next ${name}`, ofWeek(1)],
    [`${name} last week`, ofWeek(-1)],
  );
});
const months = fc.constantFrom(...MONTHS).chain((name) => {
  const isFirst = (day: string) => isFirstOfMonth(day) && monthName(day) === name;
  const wholeMonth = (first: string): DayRange => around(first, isFirstOfMonth, 0);
  return fc.constantFrom<Case[]>(
    [name, (today) => wholeMonth(seek(today, -1, isFirst))],
    [name.slice(0, 3), (today) => wholeMonth(seek(today, -1, isFirst))],
    [`${name} 5`, (today) => one(seek(today, -1, (day) => day.endsWith('-05') && monthName(day) === name))],
    [`5th of ${name}`, (today) => one(seek(today, -1, (day) => day.endsWith('-05') && monthName(day) === name))],
    [`${name} 2026`, () => wholeMonth(seek('2026-01-01', 1, isFirst))],
  );
});
const edges = fc
  .tuple(fc.constantFrom('first', 'last'), fc.constantFrom(...Object.entries(OFFSETS)))
  .chain(([edge, [which, offset]]) =>
    fc
      .constantFrom(...Object.entries(UNITS))
      .map(
        ([unit, isFirst]): Case => [
          `${edge} day of ${which} ${unit}`,
          (today) => one(around(today, isFirst, offset)[edge === 'first' ? 0 : 1]),
        ],
      ),
  );
const days = fc.constantFrom<Case[]>(
  ['today', (today) => one(today)],
  ['yesterday', (today) => one(walk(today, -1))],
  ['tomorrow', (today) => one(walk(today, 1))],
  ['day before yesterday', (today) => one(walk(today, -2))],
);

function rangeOf(words: string, zone: string, nowMs: number) {
  const { fromMs, toMs } = parseTimeRange({ start: words, end: words, timezone: zone }, nowMs);
  return [fromMs, toMs].map((ms) => new Date(ms ?? Number.NaN).toISOString());
}

const iso = (ms: number) => new Date(ms).toISOString();

test('a period extends from its first to its last moment in the zone', () => {
  fc.assert(
    fc.property(
      contexts,
      fc.oneof(days, units, counted, weekdays, months, edges),
      ({ zone, nowMs }, [words, expected]) => {
        const [first, last] = expected(dayAt(nowMs, zone));
        expect(rangeOf(words, zone, nowMs)).toEqual([iso(firstInstantOf(first, zone)), iso(lastInstantOf(last, zone))]);
      },
    ),
    { numRuns: 1000 },
  );
});

test('the start of a period is its first moment, and the end its last', () => {
  fc.assert(
    fc.property(contexts, fc.oneof(units, months), ({ zone, nowMs }, [words, expected]) => {
      const [first, last] = expected(dayAt(nowMs, zone));
      const [start, end] = [iso(firstInstantOf(first, zone)), iso(lastInstantOf(last, zone))];
      expect(rangeOf(`start of ${words}`, zone, nowMs)).toEqual([start, start]);
      expect(rangeOf(`end of ${words}`, zone, nowMs)).toEqual([end, end]);
    }),
    { numRuns: 200 },
  );
});

test('a week of ISO 8601 belongs to the year of its Thursday', () => {
  fc.assert(
    fc.property(anyInstant, (instant) => {
      const [monday, sunday] = around(dayAt(instant, 'UTC'), isMonday, 0);
      const thursday = walk(monday, 3);
      const dayOfYear = (Date.parse(thursday) - Date.parse(`${thursday.slice(0, 4)}-01-01`)) / (24 * HOUR_MS);
      const week = String(Math.floor(dayOfYear / 7) + 1).padStart(2, '0');
      expect(rangeOf(`${thursday.slice(0, 4)}-W${week}`, 'UTC', 0)).toEqual([
        `${monday}T00:00:00.000Z`,
        `${sunday}T23:59:59.999Z`,
      ]);
    }),
  );
});

test('hours, minutes and seconds are exact durations, even across clock changes', () => {
  fc.assert(
    fc.property(contexts, fc.integer({ min: 1, max: 2000 }), ({ zone, nowMs }, count) => {
      expect(rangeOf(`${count} hours ago`, zone, nowMs)[0]).toBe(iso(nowMs - count * HOUR_MS));
      expect(rangeOf(`in ${count} minutes`, zone, nowMs)[0]).toBe(iso(nowMs + count * 60_000));
      expect(rangeOf(`last ${count} hours`, zone, nowMs)).toEqual([iso(nowMs - count * HOUR_MS), iso(nowMs)]);
      expect(rangeOf('half an hour ago', zone, nowMs)[0]).toBe(iso(nowMs - HOUR_MS / 2));
      expect(rangeOf(`${count}.5h15m ago`, zone, nowMs)[0]).toBe(iso(nowMs - (count + 0.75) * HOUR_MS));
    }),
    { numRuns: 300 },
  );
});

describe('a date that only the library parses', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'];
  const relative = fc.constantFrom<Case[]>(
    ['several days after today', (today) => one(walk(today, 7))],
    ['3 days before yesterday', (today) => one(walk(today, -4))],
    ['2 days after tomorrow', (today) => one(walk(today, 3))],
  );
  // From 2012: until 2011 Newfoundland set its clocks back just after midnight, so a day began twice and the oracle may find either start.
  const named = fc
    .tuple(fc.nat(ORDINALS.length - 1), fc.constantFrom(...MONTHS), fc.integer({ min: 2012, max: 2040 }))
    .map(([index, name, year]): Case => {
      const matches = (day: string) => monthName(day) === name && Number(day.slice(8)) === index + 1;
      return [`${ORDINALS[index]} of ${name} ${year}`, () => one(seek(`${year}-01-01`, 1, matches))];
    });

  test.each(MACHINES)('is the same day on a machine in %s', (machine, minutes) => {
    vi.stubEnv('TZ', machine);
    expect(NEW_YEAR.getTimezoneOffset()).toBe(minutes);
    fc.assert(
      fc.property(contexts, fc.oneof(relative, named), ({ zone, nowMs }, [words, expected]) => {
        const [first, last] = expected(dayAt(nowMs, zone));
        expect(rangeOf(words, zone, nowMs)).toEqual([iso(firstInstantOf(first, zone)), iso(lastInstantOf(last, zone))]);
      }),
      { numRuns: 300 },
    );
  });

  test.each(MACHINES)('is the same instant on a machine in %s', (machine, minutes) => {
    vi.stubEnv('TZ', machine);
    expect(NEW_YEAR.getTimezoneOffset()).toBe(minutes);
    fc.assert(
      fc.property(contexts, anyInstant, fc.integer({ min: -12, max: 13 }), ({ zone, nowMs }, instant, hours) => {
        const whole = Math.floor(instant / 1000) * 1000;
        const offset = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}30`;
        const offsetMs = (hours < 0 ? -1 : 1) * (Math.abs(hours) * 60 + 30) * 60_000;
        const mail = new Date(whole + offsetMs).toUTCString().replace('GMT', offset);
        expect(rangeOf(mail, zone, nowMs)).toEqual([iso(whole), iso(whole)]);
      }),
      { numRuns: 300 },
    );
  });
});
