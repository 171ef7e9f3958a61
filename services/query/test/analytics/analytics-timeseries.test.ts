import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, MINUTE_MS, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';
import { clicked, zeros } from './analytics-world.js';

let query: TestQuery;
let workspace: TestWorkspace;
let link: LinkRecord;

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
  link = await workspace.aLink({ key: 'try' });
});
afterAll(() => query.close());

interface Row {
  readonly start: string;
  readonly clicks: number;
}

async function series(parameters: Record<string, string>, of: TestWorkspace = workspace): Promise<readonly Row[]> {
  const { status, body } = await of.analytics({ groupBy: 'timeseries', ...parameters });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as readonly Row[];
}

/** Rows with clicks, as pairs of `start` and number. */
async function clicksIn(
  parameters: Record<string, string>,
  of?: TestWorkspace,
): Promise<(readonly [string, number])[]> {
  return (await series(parameters, of)).filter(({ clicks }) => clicks > 0).map(({ start, clicks }) => [start, clicks]);
}

/** Without a filter the rollup is read, with one the event table. */
const ROLLED_UP_AND_RAW: readonly Record<string, string>[] = [{}, { country: 'FR' }];

/** A workspace with a click at each of the times. */
async function clickedAt(...times: readonly string[]): Promise<TestWorkspace> {
  const other = await aWorkspace(query);
  const target = await other.aLink({ key: 'a' });
  const clicks = times.map((time) => other.click(target, (NOW - Date.parse(time)) / MINUTE_MS));
  await other.store({ clicks });
  return other;
}

describe('the rows of a time series', () => {
  test.each([
    ['24h', 25],
    ['7d', 8],
    ['30d', 31],
    ['90d', 91],
    ['mtd', 21],
    ['qtd', 52],
    ['1y', 13],
    ['ytd', 11],
  ])('interval=%s has %i rows, with zeros if there are no events', async (interval, count) => {
    const rows = await series({ interval, event: 'composite' }, await aWorkspace(query));
    expect(rows).toHaveLength(count);
    for (const { start, ...numbers } of rows) expect(numbers, start).toEqual(zeros);
  });

  test('interval=all begins with the day on which the workspace was created', async () => {
    const young = await aWorkspace(query);
    const target = await young.aLink({ key: 'a' });
    await young.store({ clicks: [young.click(target, 1)] });
    const rows = await series({ interval: 'all' }, young);
    expect(rows).toHaveLength(24);
    expect(rows.filter(({ clicks }) => clicks > 0)).toEqual([{ start: '2026-11-21T14:00:00.000+0000', ...clicked(1) }]);
  });

  test('interval=all begins with the first month of imported events', async () => {
    const other = await clickedAt('2024-03-05T06:07:08Z', '2026-11-21T14:00:00Z');
    await query.database.client.insert({
      table: 'imported_counts',
      values: [[parseResourceId('workspace', other.id), '2024-03-01', 'a batch', 1]],
      format: 'JSONCompactEachRow',
    });
    const rows = await series({ interval: 'all' }, other);
    expect(rows).toHaveLength(33);
    expect(rows[0]).toEqual({ start: '2024-03-01T00:00:00.000+0000', ...clicked(1) });
    expect(rows.at(-1)).toEqual({ start: '2026-11-01T00:00:00.000+0000', ...clicked(1) });
  });

  test('exclude events of removed links', async () => {
    const other = await aWorkspace(query);
    const [kept, removed] = [await other.aLink({ key: 'kept' }), await other.aLink({ key: 'removed' })];
    await other.store({ clicks: [kept, removed].map((target) => other.click(target, 20)) });
    await other.remove(removed);
    expect(await clicksIn({}, other)).toEqual([['2026-11-21T14:00:00.000+0000', 1]]);
  });

  test('respect filters and the event type', async () => {
    const other = await aWorkspace(query);
    const target = await other.aLink({ key: 'a' });
    const customer = await other.aCustomer({ externalId: 'ada' });
    const clicks = [other.click(target, 10), other.click(target, 20, { country: 'US' })];
    await other.store({
      clicks,
      leads: [other.lead(clicks[0]!, customer, 9)],
      sales: [other.sale(clicks[1]!, customer, 8, { amount: 700 })],
    });
    const last = async (parameters: Record<string, string>) => (await series(parameters, other)).at(-1);
    const start = '2026-11-21T14:00:00.000+0000';
    expect(await last({ event: 'composite' })).toEqual({ start, clicks: 2, leads: 1, sales: 1, saleAmount: 700 });
    expect(await last({ event: 'composite', country: 'US' })).toEqual({
      start,
      clicks: 1,
      leads: 0,
      sales: 1,
      saleAmount: 700,
    });
    expect(await last({ event: 'sales', saleType: 'recurring' })).toEqual({ start, ...zeros });
    expect(await last({ event: 'leads' })).toEqual({ start, ...zeros, leads: 1 });
  });
});

describe('the bucket of an event', () => {
  test.each([
    ['Asia/Kathmandu', '2026-11-19T18:14:59.999Z', '2026-11-19T00:00:00.000+0545'],
    ['Asia/Kathmandu', '2026-11-19T18:15:00.000Z', '2026-11-20T00:00:00.000+0545'],
    ['America/St_Johns', '2026-11-20T03:29:59.999Z', '2026-11-19T00:00:00.000-0330'],
    ['America/St_Johns', '2026-11-20T03:30:00.000Z', '2026-11-20T00:00:00.000-0330'],
    ['Australia/Lord_Howe', '2026-11-19T12:59:59.999Z', '2026-11-19T00:00:00.000+1100'],
    ['Australia/Lord_Howe', '2026-11-19T13:00:00.000Z', '2026-11-20T00:00:00.000+1100'],
    ['Pacific/Chatham', '2026-11-19T10:15:00.000Z', '2026-11-20T00:00:00.000+1345'],
  ])('days in %s begin at local midnight: %s belongs to %s', async (timezone, time, start) => {
    const other = await clickedAt(time);
    expect(await clicksIn({ interval: '7d', timezone }, other)).toEqual([[start, 1]]);
    // The same, read from the event table.
    expect(await clicksIn({ interval: '7d', timezone, country: 'FR' }, other)).toEqual([[start, 1]]);
  });

  test('hours in zones with an offset of :45 are local hours, not those of UTC', async () => {
    const other = await clickedAt('2026-11-21T14:14:59.999Z', '2026-11-21T14:15:00.000Z');
    for (const filter of ROLLED_UP_AND_RAW) {
      expect(await clicksIn({ timezone: 'Asia/Kathmandu', ...filter }, other)).toEqual([
        ['2026-11-21T19:00:00.000+0545', 1],
        ['2026-11-21T20:00:00.000+0545', 1],
      ]);
    }
  });

  test('an hour that occurs twice in Berlin has two rows', async () => {
    const other = await clickedAt('2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00Z');
    for (const filter of ROLLED_UP_AND_RAW) {
      const day = { start: '2026-10-25', end: '2026-10-25', timezone: 'Europe/Berlin', ...filter };
      expect(await series(day, other)).toHaveLength(25);
      expect(await clicksIn(day, other)).toEqual([
        ['2026-10-25T02:00:00.000+0200', 1],
        ['2026-10-25T02:00:00.000+0100', 1],
        ['2026-10-25T03:00:00.000+0100', 1],
      ]);
    }
  });

  test('an hour that Berlin skips has no row, and the day has 23 hours', async () => {
    const other = await clickedAt('2026-03-29T00:59:59.999Z', '2026-03-29T01:00:00.000Z');
    const day = { start: '2026-03-29', end: '2026-03-29', timezone: 'Europe/Berlin' };
    expect(await series(day, other)).toHaveLength(23);
    expect(await clicksIn(day, other)).toEqual([
      ['2026-03-29T01:00:00.000+0100', 1],
      ['2026-03-29T03:00:00.000+0200', 1],
    ]);
    const days = { start: '2026-03-27', end: '2026-03-31', timezone: 'Europe/Berlin' };
    expect((await series(days, other)).map(({ start }) => start.slice(8))).toEqual([
      '27T00:00:00.000+0100',
      '28T00:00:00.000+0100',
      '29T00:00:00.000+0100',
      '30T00:00:00.000+0200',
      '31T00:00:00.000+0200',
    ]);
  });

  test('events in a half hour that occurs twice on Lord Howe are counted once', async () => {
    const other = await clickedAt('2026-04-04T14:45:00Z', '2026-04-04T15:15:00Z', '2026-04-04T15:45:00Z');
    const day = { start: '2026-04-05', end: '2026-04-05', timezone: 'Australia/Lord_Howe' };
    expect(await clicksIn(day, other)).toEqual([
      ['2026-04-05T01:00:00.000+1100', 1],
      ['2026-04-05T01:30:00.000+1030', 1],
      ['2026-04-05T02:00:00.000+1030', 1],
    ]);
  });

  test('a day without midnight begins at the clock change', async () => {
    const other = await clickedAt('2026-04-23T21:59:59.999Z', '2026-04-23T22:00:00.000Z');
    expect(await clicksIn({ start: '2026-04-22', end: '2026-04-26', timezone: 'Africa/Cairo' }, other)).toEqual([
      ['2026-04-23T00:00:00.000+0200', 1],
      ['2026-04-24T01:00:00.000+0300', 1],
    ]);
  });

  test('months are those of the zone', async () => {
    const other = await clickedAt('2026-09-30T13:29:59.999Z', '2026-09-30T13:30:00.000Z', '2025-11-20T00:00:00Z');
    expect(await clicksIn({ interval: 'ytd', timezone: 'Australia/Lord_Howe' }, other)).toEqual([
      ['2026-09-01T00:00:00.000+1030', 1],
      ['2026-10-01T00:00:00.000+1030', 1],
    ]);
  });

  test('events outside an exact range do not count, even within its first and last bucket', async () => {
    await workspace.store({ clicks: [0, 1, 2, 3].map((ago) => workspace.click(link, ago)) });
    const range = { start: '2026-11-21T14:28:00.250Z', end: '2026-11-21T14:29:00.250Z' };
    expect(await series(range)).toEqual([{ start: '2026-11-21T14:00:00.000+0000', ...clicked(2) }]);
  });
});
