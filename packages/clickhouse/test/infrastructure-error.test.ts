import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClickHouseError } from '@clickhouse/client';
import { createTestDatabase, freePort } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import {
  createClickHouseClient,
  insertRows,
  isBeyondLimits,
  isInfrastructureError,
  isRefusedForNow,
  isTooLarge,
  refusalCode,
} from '../src/index.js';

async function failure(url: string, requestTimeoutMs = 2_000): Promise<unknown> {
  const client = createClickHouseClient({ url, database: 'default', requestTimeoutMs });
  try {
    await insertRows(client, { table: 't', columns: ['a'], rows: [[1]] });
    return undefined;
  } catch (err) {
    return err;
  } finally {
    await client.close();
  }
}

async function serving(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a refused connection is temporary', async () => {
  const url = await serving(() => undefined);
  expect(isInfrastructureError(await failure(`http://127.0.0.1:${await freePort()}`))).toBe(true);
  expect(isInfrastructureError(await failure(url.replace('127.0.0.1', 'no-such-host.invalid')))).toBe(true);
});

test('a timeout is temporary', async () => {
  const err = await failure(await serving(() => undefined), 200);
  expect(err).toBeInstanceOf(Error);
  expect(isInfrastructureError(err)).toBe(true);
});

test('a broken connection is temporary', async () => {
  expect(isInfrastructureError(await failure(await serving((request) => request.socket.destroy())))).toBe(true);
});

test('a response from a proxy is temporary', async () => {
  const url = await serving((request, response) => {
    request.resume();
    response.writeHead(502).end('<html>Bad Gateway</html>');
  });
  expect(isInfrastructureError(await failure(url))).toBe(true);
});

test.each([
  ['60', 'UNKNOWN_TABLE'],
  ['81', 'UNKNOWN_DATABASE'],
  ['159', 'TIMEOUT_EXCEEDED'],
  ['202', 'TOO_MANY_SIMULTANEOUS_QUERIES'],
  ['241', 'MEMORY_LIMIT_EXCEEDED'],
  ['242', 'TABLE_IS_READ_ONLY'],
  ['243', 'NOT_ENOUGH_SPACE'],
  ['252', 'TOO_MANY_PARTS'],
  ['394', 'QUERY_WAS_CANCELLED'],
  ['516', 'AUTHENTICATION_FAILED'],
  ['667', 'NOT_INITIALIZED'],
  ['695', 'ASYNC_LOAD_FAILED'],
  ['696', 'ASYNC_LOAD_CANCELED'],
  ['701', 'CLUSTER_DOESNT_EXIST'],
  ['722', 'ASYNC_LOAD_WAIT_FAILED'],
  ['762', 'HTTP_CONNECTION_LIMIT_REACHED'],
  ['774', 'TABLE_IS_PERMANENTLY_READ_ONLY'],
  ['999', 'KEEPER_EXCEPTION'],
])('code %s %s: later', (code, type) => {
  expect(isInfrastructureError(new ClickHouseError({ message: '', code, type }))).toBe(true);
});

test('rows that ClickHouse refuses are not temporary', async () => {
  const { client, drop } = await createTestDatabase();
  onTestFinished(drop);
  const rows: [string, string[], (string | number)[]][] = [
    ['a text for a number', ['workspace_id', 'link_id'], ['x', 'y']],
    ['too few values', ['workspace_id', 'link_id'], [1]],
    ['an id that is too long', ['workspace_id', 'click_id'], [1, 'a'.repeat(17)]],
  ];
  for (const [what, columns, row] of rows) {
    const err = await insertRows(client, { table: 'click_events', columns, rows: [row] }).catch((err: unknown) => err);
    expect([what, err]).toEqual([what, expect.any(ClickHouseError)]);
    expect(isInfrastructureError(err)).toBe(false);
  }
});

test('a statement that lacks a right, or is wrong, is refused; one that failed for now, or had no answer, is not', async () => {
  const { client, drop } = await createTestDatabase();
  onTestFinished(drop);
  const codeOf = (of: typeof client, query: string) => of.rows({ query }).then(() => 'none', refusalCode);
  expect(await codeOf(client, 'SELECT * FROM system.users')).toBe('497');
  expect(await codeOf(client, 'SELECT nothing')).toBe('47');
  expect(await codeOf(client, 'SELECT 1 FROM no_such_table')).toBe(undefined);
  expect(
    await codeOf(client, "SELECT throwIf(1, 'a', 241::Int16) SETTINGS allow_custom_error_code_in_throwif = 1"),
  ).toBe(undefined);
  const away = createClickHouseClient({ url: 'http://127.0.0.1:1', database: 'default' });
  onTestFinished(() => away.close());
  expect(await codeOf(away, 'SELECT 1')).toBe(undefined);
});

test('a bug of the program is not temporary', () => {
  expect(isInfrastructureError(new TypeError('x is not a function'))).toBe(false);
  expect(isInfrastructureError(new RangeError('too long'))).toBe(false);
  expect(isInfrastructureError('a text')).toBe(false);
});

test('a wrapped error is judged by its cause', () => {
  const cause = new ClickHouseError({ message: '', code: '241', type: 'MEMORY_LIMIT_EXCEEDED' });
  expect(isInfrastructureError(new Error('insert of group 1', { cause }))).toBe(true);
  const bad = new ClickHouseError({ message: '', code: '27', type: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED' });
  expect(isInfrastructureError(new Error('insert of group 1', { cause: bad }))).toBe(false);
});

test.each([
  ['too many statements', '202', '', 'for now'],
  ['a replica is away', '279', '', 'for now'],
  ['Keeper is away', '999', '', 'for now'],
  ['too little time', '159', '', 'beyond its limits'],
  ['too little memory of the statement', '241', 'Query memory limit exceeded: would use 1 GiB', 'beyond its limits'],
  ['too little memory of the server', '241', '(total) memory limit exceeded: would use 8 GiB', 'for now'],
  ['a wrong statement', '47', '', 'for good'],
])('a statement is refused by ClickHouse: %s', (_why, code, message, expected) => {
  const err = new ClickHouseError({ message, code, type: '' });
  for (const thrown of [err, new Error('a read', { cause: err })]) {
    const how = isRefusedForNow(thrown) ? 'for now' : 'for good';
    expect(isBeyondLimits(thrown) ? 'beyond its limits' : how).toBe(expected);
  }
  expect([isRefusedForNow(new Error('the file is gone')), isBeyondLimits(new Error('slow'))]).toEqual([false, false]);
});

test.each([
  ['241', 'Query memory limit exceeded: would use 1 GiB', true],
  ['241', '(total) memory limit exceeded: would use 8 GiB', false],
  ['396', 'Limit for result exceeded', true],
  ['159', 'Timeout exceeded', false],
])(
  'a statement that ClickHouse aborts with code %s (%s) may succeed with fewer rows: %s',
  (code, message, expected) => {
    const err = new ClickHouseError({ message, code, type: '' });
    expect([isTooLarge(err), isTooLarge(new Error('a read', { cause: err }))]).toEqual([expected, expected]);
  },
);
