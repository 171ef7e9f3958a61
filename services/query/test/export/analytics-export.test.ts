import { GROUPINGS, type Grouping } from '@waymark/contract';
import { parse } from 'csv-parse/sync';
import { strFromU8, unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnalyticsWorld, anAnalyticsWorld } from '../analytics/analytics-world.js';
import { aWorkspace, startQuery, type TestQuery } from '../test-query.js';
import { startExport } from './exported.js';

let query: TestQuery;
let world: AnalyticsWorld;

beforeAll(async () => {
  query = await startQuery();
  await query.app.listen({ host: '127.0.0.1', port: 0 });
  world = await anAnalyticsWorld(query);
});
afterAll(() => query.close());

const archiveOf = (parameters: Record<string, string>) =>
  startExport(world.workspace, parameters, undefined, '/analytics/export');

/** A value of a response as it is in a CSV file. */
function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

test('the archive has the rows of GET /analytics, a CSV file for each grouping', async () => {
  for (const parameters of [{ event: 'composite', interval: '30d' }, { event: 'sales' }] as Record<string, string>[]) {
    const response = await archiveOf({ ...parameters, escapeFormulas: 'false' });
    expect(response.headers.get('content-type')).toBe('application/zip');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="analytics-2026-11-21.zip"');
    const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
    expect(Object.keys(files).sort()).toEqual(GROUPINGS.map((name) => `${name}.csv`).sort());
    for (const groupBy of GROUPINGS as readonly Grouping[]) {
      const [columns = [], ...records] = parse(strFromU8(files[`${groupBy}.csv`]!), {
        record_delimiter: '\r\n',
      }) as string[][];
      const rows = [await world.rows({ ...parameters, groupBy })].flat() as Record<string, unknown>[];
      expect([groupBy, records]).toEqual([groupBy, rows.map((row) => columns.map((name) => fieldOf(row[name])))]);
      for (const row of rows) expect(columns).toEqual(expect.arrayContaining(Object.keys(row)));
    }
  }
});

test('the files count events up to the time of the request, which every file shares', async () => {
  const { workspace, link } = world;
  const rowsOf = async (groupBy: string) => {
    const response = await archiveOf({ groupBy, interval: '30d' });
    const [file] = Object.values(unzipSync(new Uint8Array(await response.arrayBuffer())));
    return strFromU8(file!).trim().split('\r\n').slice(1);
  };
  const before = [await rowsOf('count'), await rowsOf('countries'), await rowsOf('timeseries')];
  // Stored before the file is read, and in the interval, which ends with the day.
  await workspace.store({ clicks: [workspace.click(link, -5)] });
  expect(await world.rows({ interval: '30d' })).toMatchObject({ clicks: Number.parseInt(before[0]![0]!, 10) + 1 });
  expect([await rowsOf('count'), await rowsOf('countries'), await rowsOf('timeseries')]).toEqual(before);
});

test('the archive has the files of `groupBy`', async () => {
  const response = await archiveOf({ groupBy: 'countries,trigger,countries,triggers' });
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  expect(Object.keys(files)).toEqual(['countries.csv', 'triggers.csv']);
});

test('refuses what GET /analytics refuses, and an unknown grouping', async () => {
  for (const [parameters, status, part] of [
    [{ groupBy: 'countries,nonsense' }, 422, 'groupBy'],
    [{ event: 'nonsense' }, 422, 'event'],
    [{ trigger: 'nonsense' }, 422, 'trigger'],
    [{ programId: 'prog_x' }, 403, 'program'],
  ] as const) {
    const response = await archiveOf(parameters);
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(part)]);
  }
  const free = await startExport(await aWorkspace(query, 'free'), {}, undefined, '/analytics/export');
  expect(free.status).toBe(403);
});
