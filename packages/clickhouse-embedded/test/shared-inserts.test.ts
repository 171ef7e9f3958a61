import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { selfContainedInsert } from '../src/engine/plain-insert.js';
import type { Statement } from '../src/engine/statement.js';
import { fetchWithPassword } from './fetch-with-password.js';

const INSERT = 'INSERT INTO received (n, at) FORMAT JSONCompactEachRow';
/** A statement with a comment has a connection of its own. */
const onItsOwn = (sql: string) => sql.replace('FORMAT', '/* */ FORMAT');

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await db.client.command({
    query: `CREATE TABLE received (n UInt64, at DateTime DEFAULT 1, day Date MATERIALIZED toDate(at))
      ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100`,
  });
});
afterAll(async () => {
  await db.client.command({ query: 'DROP TABLE received SYNC' });
  await db.drop();
});

/** Sends an insert as clients do: the statement in the URL, the rows in the body. @returns status and exception code */
async function insert(sql: string, rows: string, settings: Record<string, string> = {}) {
  const fields = new URLSearchParams({ database: db.database, ...settings, query: sql });
  const response = await fetchWithPassword(`${db.url}/?${fields}`, { method: 'POST', body: rows });
  await response.arrayBuffer();
  return [response.status, response.headers.get('x-clickhouse-exception-code')];
}

const stored = async (n: number) =>
  (
    await db.client.query({
      query: `SELECT toUnixTimestamp(at) FROM received WHERE n = ${n} ORDER BY at`,
      format: 'TabSeparated',
    })
  ).text();

describe('an insert of rows that follow it', () => {
  const settings = new Map([['log_comment', "it's"]]);
  const statement = { database: undefined, format: 'TSV', parameters: new Map<string, string>() };
  const textOf = (sql: string, more: Partial<Statement> = {}) =>
    selfContainedInsert({ ...statement, sql, data: Buffer.from('[1]'), settings, ...more }, 'id');

  const more = "log_comment = 'it\\'s', query_cache_tag = 'id'";
  const oneThread = "max_threads = '1', input_format_parallel_parsing = '0'";

  test('has its settings in a clause, and always a deduplication token', () => {
    expect(textOf('INSERT INTO t (a, `b`) FORMAT TSV')).toBe(
      `INSERT INTO t (a, \`b\`)  SETTINGS insert_deduplication_token = '', ${oneThread}, ${more} FORMAT TSV`,
    );
    expect(textOf('insert into d.t format TSV', { settings: new Map([['insert_deduplication_token', 'x']]) })).toBe(
      `insert into d.t  SETTINGS insert_deduplication_token = 'x', ${oneThread}, query_cache_tag = 'id' format TSV`,
    );
  });

  test('has the threads of its settings, and several when it is large', () => {
    const large = { data: Buffer.alloc(1024 * 1024) };
    expect(textOf('INSERT INTO t FORMAT TSV', large)).toBe(
      `INSERT INTO t  SETTINGS insert_deduplication_token = '', ${more} FORMAT TSV`,
    );
    expect(textOf('INSERT INTO t FORMAT TSV', { settings: new Map([['max_threads', '2']]) })).toContain(
      "max_threads = '2', input_format_parallel_parsing = '0', query",
    );
  });

  test.each<[string, string, Partial<Statement>?]>([
    ['rows in the statement', 'INSERT INTO t VALUES (1)'],
    ['a SELECT', 'INSERT INTO t SELECT 1 FORMAT TSV'],
    ['a clause of its own', 'INSERT INTO t SETTINGS max_threads = 1 FORMAT TSV'],
    ['a comment', onItsOwn('INSERT INTO t FORMAT TSV')],
    ['a function as target', "INSERT INTO FUNCTION file('x') FORMAT TSV"],
    ['no rows', 'INSERT INTO t FORMAT TSV', { data: Buffer.alloc(0) }],
    ['parameters', 'INSERT INTO t FORMAT TSV', { parameters: new Map([['p', '1']]) }],
    ['readonly', 'INSERT INTO t FORMAT TSV', { settings: new Map([['readonly', '0']]) }],
    ['a setting of the parser', 'INSERT INTO t FORMAT TSV', { settings: new Map([['max_parser_depth', '9']]) }],
  ])('with %s has a connection of its own', (_, sql, changes) => expect(textOf(sql, changes)).toBeUndefined());
});

test('the token of an insert drops its repetition, and no later insert', async () => {
  const token = { insert_deduplication_token: 'once' };
  expect(await insert(INSERT, '[1, 60]\n', token)).toEqual([200, null]);
  expect(await insert(INSERT, '[1, 61]\n', token)).toEqual([200, null]);
  expect(await insert(INSERT, '[1, 62]\n')).toEqual([200, null]);
  expect(await insert(INSERT, '[1, 63]\n', { insert_deduplication_token: 'other' })).toEqual([200, null]);
  expect(await stored(1)).toBe('60\n62\n63\n');
});

describe('settings apply to one insert as on a connection of its own', () => {
  test.each<[string, string, Record<string, string>]>([
    ['the zone of times', '[2, "2026-01-01 00:00:00"]', { session_timezone: 'Asia/Tokyo' }],
    ['the zone UTC', '[2, "2026-01-01 00:00:00"]', {}],
    ['basic times', '[2, "2026-01-01T00:00:00Z"]', { date_time_input_format: 'basic' }],
    ['times with a zone', '[2, "2026-01-01T00:00:00+09:00"]', { date_time_input_format: 'best_effort' }],
    ['defaults for null', '[2, null]', { input_format_null_as_default: '1' }],
    ['no defaults for null', '[2, null]', { input_format_null_as_default: '0' }],
    ['errors allowed', '[2, 5]\n["x", 6]', { input_format_allow_errors_num: '1' }],
    ['errors not allowed', '[2, 5]\n["x", 6]', {}],
    ['readonly', '[2, 5]', { readonly: '1' }],
    ['a setting that does not exist', '[2, 5]', { no_such_setting: '1' }],
    ['a locked setting', '[2, 5]', { format_schema: 'x' }],
    ['limits that are kept', '[2, 5]', { max_partitions_per_insert_block: '1', max_rows_to_read: '1' }],
  ])('%s', async (_, rows, settings) => {
    const outcome = async (sql: string) => {
      await db.client.command({ query: 'TRUNCATE TABLE received' });
      return [await insert(sql, rows, settings), await stored(2)];
    };
    const alone = await outcome(onItsOwn(INSERT));
    expect(await outcome(INSERT)).toEqual(alone);
    expect(await outcome(INSERT)).toEqual(alone);
  });

  test('expressions in VALUES stay refused', async () => {
    const values = 'INSERT INTO received (n, at) FORMAT Values';
    expect(await insert(values, "(3, toDateTime('2026-01-01 00:00:00'))")).not.toEqual([200, null]);
    expect(await insert(values, '(3, 1)', { input_format_values_interpret_expressions: '1' })).toEqual([500, '452']);
  });

  test('an insert into a missing database or table fails, and the next insert succeeds', async () => {
    expect(await insert(INSERT, '[4, 5]', { database: 'no_such_database' })).toEqual([404, '81']);
    expect((await insert(INSERT.replace('received', 'nothing'), '[4, 5]'))[1]).toBe('60');
    expect(await insert(INSERT, '[4, 5]')).toEqual([200, null]);
    expect(await stored(4)).toBe('5\n');
  });
});
