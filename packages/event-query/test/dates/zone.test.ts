import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/dates/calendar.js';
import { zoneOf } from '../../src/dates/zone.js';

/** Zones with DST changes at midnight, at other hours and by half an hour, with odd offsets, with a skipped day, and without DST. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'America/St_Johns',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Africa/Casablanca',
];
const zones = fc.constantFrom(...ZONES);
const FIRST = Date.UTC(1985, 0, 1);
const LAST = Date.UTC(2030, 0, 1);
const instants = fc.integer({ min: FIRST, max: LAST });

/** Created once: a format at each of the thousands of calls took most of the CPU time of these tests. */
const formats = new Map(
  ZONES.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
  ]),
);

/** `2026-03-04 12:30:45` in one of the zones, from Intl. */
const localText = (instantMs: number, zone: string) => formats.get(zone)?.format(instantMs) ?? '';

function textOf(localMs: number): string {
  return new Date(localMs).toISOString().slice(0, 19).replace('T', ' ');
}

test('local time is what Intl shows', () => {
  fc.assert(
    fc.property(zones, instants, (name, instant) => {
      expect(textOf(zoneOf(name).toLocal(instant))).toBe(localText(instant, name));
    }),
    { numRuns: 500 },
  );
});

test('the instant of a local time that exists shows that time, and it is the earliest that does', () => {
  fc.assert(
    fc.property(zones, instants, (name, instant) => {
      const zone = zoneOf(name);
      const local = zone.toLocal(instant);
      const found = zone.toInstant(local);
      expect(zone.toLocal(found)).toBe(local);
      expect(found).toBeLessThanOrEqual(instant);
    }),
    { numRuns: 500 },
  );
});

/** All offset changes of a zone between two instants, found by bisection in steps of six hours. */
function transitions(name: string, from: number, to: number): number[] {
  const zone = zoneOf(name);
  const offset = (instant: number) => zone.toLocal(instant) - instant;
  const found: number[] = [];
  let last = offset(from);
  for (let low = from; low < to; low += 6 * 3_600_000) {
    let high = low + 6 * 3_600_000;
    const before = last;
    last = offset(high);
    if (last === before) continue;
    let start = low;
    while (high - start > 1) {
      const middle = Math.floor((start + high) / 2);
      if (offset(middle) === before) start = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

test.each(ZONES)('around every clock change in %s, days start and end at the right instants', (name) => {
  const zone = zoneOf(name);
  const years = [
    [2005, 2012],
    [2018, 2019],
    [2026, 2027],
  ] as const;
  const changes = years.flatMap(([from, to]) => transitions(name, Date.UTC(from, 0, 1), Date.UTC(to, 0, 1)));
  for (const change of changes) {
    for (const around of [change - DAY_MS, change - 1, change, change + DAY_MS]) {
      const midnight = Math.floor(zone.toLocal(around) / DAY_MS) * DAY_MS;
      const [start, end] = [zone.dayStart(midnight), zone.dayEnd(midnight)];
      const dayOf = (instant: number) => localText(instant, name).slice(0, 10);
      const day = textOf(midnight).slice(0, 10);
      expect([dayOf(start), dayOf(end)], `${name} ${day}`).toEqual([day, day]);
      // A clock that is set back across midnight repeats the end of the previous day; the day starts at its first midnight.
      expect(dayOf(start - 1) < day, `${name} start of ${day}`).toBe(true);
      expect(dayOf(end + 1) > day, `${name} end of ${day}`).toBe(true);
    }
  }
});

test('a time in a gap is moved forward by the length of the gap', () => {
  // 02:30 of 29 March 2026 does not exist in Berlin: it is 03:30 summer time.
  expect(zoneOf('Europe/Berlin').toInstant(Date.UTC(2026, 2, 29, 2, 30))).toBe(Date.UTC(2026, 2, 29, 1, 30));
});

test('a repeated time means its first occurrence', () => {
  expect(zoneOf('Europe/Berlin').toInstant(Date.UTC(2026, 9, 25, 2, 30))).toBe(Date.UTC(2026, 9, 25, 0, 30));
});

test('a day without midnight starts at the clock change', () => {
  const midnight = Date.UTC(2018, 10, 4);
  expect(zoneOf('America/Sao_Paulo').dayStart(midnight)).toBe(Date.UTC(2018, 10, 4, 3));
});

test('a day that the zone skipped has no instants', () => {
  const zone = zoneOf('Pacific/Apia');
  const skipped = Date.UTC(2011, 11, 30);
  expect(zone.dayEnd(skipped)).toBe(zone.dayStart(skipped) - 1);
});

test.each(['Nowhere/Land', '', '+05:30', '-03', '../etc', 'UTC\0', "Europe/Berlin'"])(
  'the unknown zone %j is UTC',
  (name) => {
    expect(zoneOf(name).name).toBe('UTC');
  },
);

test('names of zones are case-insensitive', () => {
  expect(zoneOf('europe/berlin').name).toBe('Europe/Berlin');
});
