import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClickHouseError } from '@clickhouse/client';
import { ApiError } from '@waymark/contract';
import { createTestDatabase, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClickHouseClient, type QueryReport, runCompiledQuery } from '../src/index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const ENDLESS = 'SELECT sum(cityHash64(number, {p0:String})) FROM numbers(10000000000000)';

test('parameters of every type arrive unchanged; 64-bit numbers and times are returned as strings', async () => {
  const params = {
    p0: "' \\ \n \t \0 {p1:String} 😀",
    p1: 18446744073709551615n,
    p2: ["'", '\\', 'a\0b', ''],
    p3: [0n, 18446744073709551615n],
    p4: '2026-11-21 14:30:00.250',
  };
  const sql = `SELECT {p0:String}, {p1:UInt64}, {p2:Array(String)}, {p3:Array(UInt64)}, {p4:DateTime64(3, 'UTC')}`;
  expect(await runCompiledQuery(database.client, { sql, params, settings: {} })).toEqual([
    [params.p0, String(params.p1), params.p2, params.p3.map(String), '2026-11-21T14:30:00.250Z'],
  ]);
});

test('the settings of the statement are used', async () => {
  const sql = "SELECT getSetting('max_threads'), getSetting('log_comment')";
  const settings = { max_threads: 3, log_comment: "it's mine" };
  expect(await runCompiledQuery(database.client, { sql, params: {}, settings })).toEqual([[3, "it's mine"]]);
});

test('the logs of ClickHouse identify the request, and the callback gets a report of the query', async () => {
  const caller = { endpoint: 'GET /events', workspaceId: 'ws_1', requestId: 'a/b' };
  const reports: QueryReport[] = [];
  const onReport = (report: QueryReport) => reports.push(report);
  const query = { sql: "SELECT getSetting('log_comment')", params: {}, settings: { log_comment: 'events click' } };
  expect(await runCompiledQuery(database.client, query, { caller, onReport })).toEqual([
    ['GET /events workspace ws_1 request a/b reads events click'],
  ]);
  const wrong = { ...query, sql: "SELECT throwIf(1, 'a secret') FROM numbers(1)" };
  await expect(runCompiledQuery(database.client, wrong, { caller, onReport })).rejects.toThrow();
  expect(reports).toMatchObject([
    { error: '', durationMs: expect.any(Number), readRows: 1 },
    { error: 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO' },
  ]);
});

test.each([
  ['too long', { sql: ENDLESS, params: { p0: 'x' }, settings: { max_execution_time: 1 } }],
  [
    'memory',
    { sql: 'SELECT groupArray(number) FROM numbers(20000000)', params: {}, settings: { max_memory_usage: 5_000_000 } },
  ],
  ['too large', { sql: 'SELECT number FROM numbers(200000)', params: {}, settings: {} }],
  ['too large', { sql: 'SELECT repeat(toString(number), 300000) FROM numbers(200)', params: {}, settings: {} }],
])('a query over its limit is an error that says so: %s', async (what, query) => {
  const err = await runCompiledQuery(database.client, query).catch((thrown: unknown) => thrown);
  expect(err).toBeInstanceOf(ApiError);
  expect(err).toMatchObject({
    status: 500,
    message: expect.stringContaining(what),
    cause: expect.any(ClickHouseError),
  });
});

test('a query that the server has no memory for, because of others, is an error with Retry-After', async () => {
  const sql = "SELECT throwIf(1, '(total) memory limit exceeded', 241::Int16)";
  const query = { sql, params: {}, settings: { allow_custom_error_code_in_throwif: 1 } };
  await expect(runCompiledQuery(database.client, query)).rejects.toMatchObject({
    ...{ status: 500, retryAfterSeconds: 1 },
    cause: { code: '241' },
  });
});

test('an invalid query is the error of ClickHouse as it is', async () => {
  const query = { sql: 'SELECT nonsense FROM click_events', params: {}, settings: {} };
  const err = await runCompiledQuery(database.client, query).catch((thrown: unknown) => thrown);
  expect(err).toBeInstanceOf(ClickHouseError);
});

test('a compiled query cannot write', async () => {
  const query = { sql: 'TRUNCATE TABLE click_events', params: {}, settings: {} };
  await expect(runCompiledQuery(database.client, query)).rejects.toMatchObject({ cause: { code: '164' } });
});

test('an unavailable ClickHouse is an error with Retry-After', async () => {
  const server = createServer((request) => request.socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClickHouseClient({ url, database: 'default' });
  onTestFinished(() => client.close());
  const query = { sql: 'SELECT 1', params: {}, settings: {} };
  await expect(runCompiledQuery(client, query)).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
});

test('an aborted signal ends the query here and in ClickHouse', async () => {
  const mark = randomUUID();
  const running = async () => {
    const sql =
      "SELECT count() FROM system.processes WHERE query LIKE '%cityHash64%' AND Settings['log_comment'] = {p0:String}";
    const [row] = await runCompiledQuery<[string]>(database.client, { sql, params: { p0: mark }, settings: {} });
    return Number(row?.[0]);
  };
  const caller = new AbortController();
  const query = { sql: ENDLESS, params: { p0: 'x' }, settings: { log_comment: mark, max_execution_time: 60 } };
  const result = runCompiledQuery(database.client, query, { signal: caller.signal }).catch((thrown: unknown) => thrown);
  await waitFor(async () => (await running()) === 1, { what: 'the query to run' });
  const reason = new Error('the caller left');
  caller.abort(reason);
  expect(await result).toBe(reason);
  await waitFor(async () => (await running()) === 0, { what: 'ClickHouse to end the query', timeoutMs: 20_000 });
});

test('ClickHouse gets the workspace of a query as its quota key, and none with a query for no request', async () => {
  const keys: (string | null)[] = [];
  const server = createServer((request, response) => {
    keys.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('quota_key'));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClickHouseClient({ url, database: 'default' });
  onTestFinished(() => client.close());
  const query = { sql: 'SELECT 1', params: {}, settings: {} };
  await runCompiledQuery(client, query, {
    caller: { endpoint: 'GET /events', workspaceId: 'ws_1', requestId: 'a' },
  });
  await runCompiledQuery(client, query);
  expect(keys).toEqual(['ws_1', null]);
});
