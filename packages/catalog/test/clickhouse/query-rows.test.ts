import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createListReads } from '../../src/clickhouse/list-reads.js';
import { queryRows } from '../../src/clickhouse/query-rows.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** A statement that ClickHouse refuses with an error code. */
const refused = (code: number) => ({
  query: `SELECT throwIf(1, 'refused', ${code}::Int16)`,
  parameters: { workspace: '1' },
  settings: { allow_custom_error_code_in_throwif: 1 },
});
const LATER = { status: 500, code: 'internal_server_error', retryAfterSeconds: 1 };

it.each([
  ['202: too many statements run', 202],
  ['210: the network', 210],
  ['241: memory', 241],
  ['279: all connections have failed', 279],
  ['999: Keeper is away', 999],
])('a read that ClickHouse refuses for now is answered with Retry-After: %s', async (_why, code) => {
  const err = await queryRows(database.client, refused(code)).catch((thrown: unknown) => thrown);
  expect(err).toMatchObject({ ...LATER, cause: { code: String(code) } });
});

it('a list that ClickHouse refuses for now has Retry-After; one that takes too long says so, without it', async () => {
  const readList = createListReads(database.client);
  await expect(readList(refused(202))).rejects.toMatchObject({ retryAfterSeconds: 1 });
  for (const code of [159, 241]) {
    const err = await readList(refused(code)).catch((thrown: unknown) => thrown);
    expect(err).toMatchObject({ status: 500, message: expect.stringContaining('narrower filter') });
    expect(err).toHaveProperty('retryAfterSeconds', undefined);
  }
});

it('a wrong statement stays an internal error', async () => {
  const read = queryRows(database.client, { query: 'SELECT nothing', parameters: {} });
  await expect(read).rejects.toMatchObject({ code: '47' });
});

it('a read, also one of a list, may take 5 s and 500 MB', async () => {
  const names = ['max_execution_time', 'max_memory_usage'];
  const query = `SELECT ${names.map((name) => `toString(getSetting('${name}'))`)}`;
  const limits = [['5', '500000000']];
  expect(await queryRows(database.client, { query, parameters: {} })).toEqual(limits);
  expect(await createListReads(database.client)({ query, parameters: { workspace: '1' } })).toEqual(limits);
});
