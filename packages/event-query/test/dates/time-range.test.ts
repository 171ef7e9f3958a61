import { ApiError } from '@waymark/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTimeRange, type RangeParameters } from '../../src/dates/time-range.js';

/** A Saturday, 14:30 in UTC. */
const NOW = Date.parse('2026-11-21T14:30:00.250Z');

function bounds(parameters: RangeParameters, nowMs = NOW): [string | undefined, string] {
  const { fromMs, toMs } = parseTimeRange(parameters, nowMs);
  return [fromMs === undefined ? undefined : new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
}

const END_OF_TODAY = '2026-11-21T23:59:59.999Z';

test.each([
  [undefined, '2026-11-20T14:30:00.250Z', '2026-11-21T14:30:00.250Z'],
  ['24h', '2026-11-20T14:30:00.250Z', '2026-11-21T14:30:00.250Z'],
  ['7d', '2026-11-14T14:30:00.250Z', END_OF_TODAY],
  ['30d', '2026-10-22T14:30:00.250Z', END_OF_TODAY],
  ['90d', '2026-08-23T14:30:00.250Z', END_OF_TODAY],
  ['1y', '2025-11-21T14:30:00.250Z', END_OF_TODAY],
  ['mtd', '2026-11-01T00:00:00.000Z', END_OF_TODAY],
  ['qtd', '2026-10-01T00:00:00.000Z', END_OF_TODAY],
  ['ytd', '2026-01-01T00:00:00.000Z', END_OF_TODAY],
  ['all', undefined, END_OF_TODAY],
] as const)('the interval %s is %s to %s in UTC', (interval, from, to) => {
  expect(bounds({ interval })).toEqual([from, to]);
});

test('an interval of days keeps the time of day across a clock change', () => {
  const now = Date.parse('2026-03-30T10:00:00Z');
  expect(bounds({ interval: '7d', timezone: 'Europe/Berlin' }, now)).toEqual([
    '2026-03-23T11:00:00.000Z',
    '2026-03-30T21:59:59.999Z',
  ]);
  expect(bounds({ interval: '24h', timezone: 'Europe/Berlin' }, Date.parse('2026-03-29T10:00:00Z'))[0]).toBe(
    '2026-03-28T10:00:00.000Z',
  );
});

test.each([
  ['30d', '2026-03-30T10:00:00Z', '2026-02-28T11:00:00.000Z'],
  ['90d', '2026-03-30T10:00:00Z', '2025-12-30T11:00:00.000Z'],
  ['1y', '2026-03-29T12:00:00Z', '2025-03-29T13:00:00.000Z'],
] as const)(
  'the interval %s that ends in summer time begins at the same time of day in winter',
  (interval, now, from) => {
    expect(bounds({ interval, timezone: 'Europe/Berlin' }, Date.parse(now))[0]).toBe(from);
  },
);

test('months, quarters and years begin at local midnight', () => {
  const newYear = Date.parse('2026-12-31T22:00:00Z');
  expect(bounds({ interval: 'ytd', timezone: 'Asia/Kolkata' }, newYear)).toEqual([
    '2026-12-31T18:30:00.000Z',
    '2027-01-01T18:29:59.999Z',
  ]);
  expect(bounds({ interval: 'mtd', timezone: 'America/New_York' }, newYear)[0]).toBe('2026-12-01T05:00:00.000Z');
  expect(bounds({ interval: 'qtd', timezone: 'America/New_York' }, newYear)[0]).toBe('2026-10-01T04:00:00.000Z');
});

test('a year before 29 February is 28 February', () => {
  expect(bounds({ interval: '1y' }, Date.parse('2028-02-29T08:00:00Z'))[0]).toBe('2027-02-28T08:00:00.000Z');
});

test('a date without a time is the whole day in the zone, a time is exact', () => {
  expect(bounds({ start: '2026-03-28', end: '2026-03-29', timezone: 'Europe/Berlin' })).toEqual([
    '2026-03-27T23:00:00.000Z',
    '2026-03-29T21:59:59.999Z',
  ]);
  expect(bounds({ start: '2026-03-28', timezone: 'Pacific/Kiritimati' })[0]).toBe('2026-03-27T10:00:00.000Z');
  expect(bounds({ start: '2026-03-28T10:15:30.5Z', end: '2026-03-28T12:15+02:00', timezone: 'Asia/Tokyo' })).toEqual([
    '2026-03-28T10:15:00.000Z',
    '2026-03-28T10:15:30.500Z',
  ]);
  expect(bounds({ start: '2026-03-28 10:15:30', end: '2026-03-28T23:15-0330', timezone: 'Asia/Tokyo' })).toEqual([
    '2026-03-28T10:15:30.000Z',
    '2026-03-29T02:45:00.000Z',
  ]);
});

test('start overrides the interval, end without start is ignored, and the default end is now', () => {
  expect(bounds({ interval: '7d', start: '2026-11-01T00:00:00Z' })).toEqual([
    '2026-11-01T00:00:00.000Z',
    new Date(NOW).toISOString(),
  ]);
  expect(bounds({ interval: '24h', end: '2026-11-01' })).toEqual(bounds({ interval: '24h' }));
});

test('reversed dates give the same range', () => {
  const start = '2026-03-10';
  const end = '2026-03-01';
  expect(bounds({ start, end })).toEqual(bounds({ start: end, end: start }));
  expect(bounds({ start, end })).toEqual(['2026-03-01T00:00:00.000Z', '2026-03-10T23:59:59.999Z']);
  expect(bounds({ start: '2026-12-01' })).toEqual([new Date(NOW).toISOString(), '2026-12-01T23:59:59.999Z']);
});

test('a day and a time on that day are in order, either way round', () => {
  expect(bounds({ start: '2026-03-10', end: '2026-03-10T09:00:00Z' })).toEqual([
    '2026-03-10T00:00:00.000Z',
    '2026-03-10T09:00:00.000Z',
  ]);
  expect(bounds({ start: '2026-03-10T09:00:00Z', end: '2026-03-10' })).toEqual([
    '2026-03-10T09:00:00.000Z',
    '2026-03-10T23:59:59.999Z',
  ]);
});

test.each([
  '1772600000',
  '1772600000000',
  '2026-02-29',
  '2026-13-01',
  '2026-03-04T24:00:00Z',
  '2026-03-04T12:60:00Z',
  '2026-03-04T12:30:60Z',
  '2026-03-04T12:30:00+25:00',
  '2026-03-04T12:30+100',
  '2026-03-04T12:30:00 Europe/Berlin',
  '2026-03-04T',
  '2026-03-04T12',
  '03/04/2026',
  '2026-03-04; DROP TABLE click_events',
  "2026-03-04'",
  '\0',
])('the date %j is refused with the name of the parameter', (text) => {
  for (const parameter of ['start', 'end'] as const) {
    expect(() => parseTimeRange({ start: '2026-03-01', [parameter]: text }, NOW)).toThrow(
      expect.objectContaining({
        code: 'unprocessable_entity',
        message: expect.stringMatching(new RegExp(`^invalid_format: ${parameter}: `)),
      }),
    );
  }
});

test('a range starts with the first moment of a period and ends with the last', () => {
  expect(bounds({ start: 'last quarter', end: 'last month', timezone: 'Asia/Kolkata' })).toEqual([
    '2026-06-30T18:30:00.000Z',
    '2026-10-31T18:29:59.999Z',
  ]);
  expect(bounds({ start: 'last month', end: 'last quarter' })).toEqual(
    bounds({ start: 'last quarter', end: 'last month' }),
  );
  expect(bounds({ start: 'this month' })).toEqual(['2026-11-01T00:00:00.000Z', new Date(NOW).toISOString()]);
  expect(bounds({ start: 'start of last month', end: 'start of month' })).toEqual([
    '2026-10-01T00:00:00.000Z',
    '2026-11-01T00:00:00.000Z',
  ]);
});

test.each([
  '0 hours ago',
  '0 minutes ago',
  'in 0 seconds',
  'now - 0 minutes',
  '0h30m ago',
  '0.0001 seconds ago',
  '0 days and 0 hours ago',
])('%s is an instant, as any number of hours, minutes or seconds', (text) => {
  const [from] = bounds({ start: text });
  expect(from).toBe(text === '0h30m ago' ? '2026-11-21T14:00:00.250Z' : '2026-11-21T14:30:00.250Z');
  expect(bounds({ start: '2026-11-01', end: text })[1]).toBe(from);
});

test('days and zero hours ago are an instant, zero days ago are today', () => {
  expect(bounds({ start: '1 day and 0 hours ago', timezone: 'Europe/Berlin' })[0]).toBe('2026-11-20T14:30:00.250Z');
  expect(bounds({ start: '0 days ago', end: '0 weeks ago' })).toEqual(['2026-11-21T00:00:00.000Z', END_OF_TODAY]);
});

test.each(['1970', '1970-01', '1970-Q1', 'jan 1 1970', 'start of 1970', 'jan 1 1970 at 0am'])(
  '%s begins with the first local moment of 1970, also where 1969 is not over in UTC',
  (start) => {
    expect(bounds({ start, timezone: 'Europe/Berlin' })[0]).toBe('1969-12-31T23:00:00.000Z');
    expect(bounds({ start, timezone: 'America/New_York' })[0]).toBe('1970-01-01T05:00:00.000Z');
  },
);

test('a number of days or hours ago may reach to the first local moment of 1970', () => {
  const timezone = 'Asia/Tokyo';
  for (const start of ['1 day ago', '24 hours ago']) {
    expect(bounds({ start, timezone }, Date.parse('1970-01-01T15:00:00Z'))[0]).toBe('1969-12-31T15:00:00.000Z');
    expect(() => bounds({ start, timezone }, Date.parse('1970-01-01T14:59:59Z'))).toThrow(ApiError);
  }
});

test.each(['1969', '1969-12', 'december 31 1969'])('%s is refused in every zone', (start) => {
  for (const timezone of ['UTC', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'])
    expect(() => bounds({ start, timezone })).toThrow(ApiError);
});

test('an invalid end is refused even where it would be ignored', () => {
  expect(() => parseTimeRange({ end: 'soon' }, NOW)).toThrow(ApiError);
});

test('every instant in ISO 8601 is parsed exactly', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
      (date) => {
        const { fromMs } = parseTimeRange({ start: date.toISOString(), end: '9999-12-31T23:59:59.999Z' }, NOW);
        expect(fromMs).toBe(date.getTime());
      },
    ),
  );
});

test('any text is parsed as a date or refused with an ApiError', () => {
  const parts = fc.constantFrom('2', '0', '-', ':', 'T', 'Z', '+', '.', ' ', '2026-03-04', '12:30', 'é');
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), fc.string({ maxLength: 20 }), (texts, timezone) => {
      try {
        const { fromMs, toMs } = parseTimeRange({ start: texts.join(''), timezone }, NOW);
        expect(Number.isInteger(fromMs) && Number.isInteger(toMs)).toBe(true);
      } catch (err) {
        expect(err).toBeInstanceOf(ApiError);
      }
    }),
    { numRuns: 500 },
  );
});
