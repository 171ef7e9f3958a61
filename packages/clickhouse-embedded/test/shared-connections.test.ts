import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchWithPassword } from './fetch-with-password.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

async function send(query: string, members: Record<string, string> = {}, method = 'POST') {
  const fields = new URLSearchParams({ database: db.database, ...members, ...(method === 'GET' ? { query } : {}) });
  const response = await fetchWithPassword(`${db.url}/?${fields}`, method === 'GET' ? {} : { method, body: query });
  const text = await response.text();
  return [response.status, response.headers.get('x-clickhouse-exception-code'), response.ok ? text : ''];
}

/** A statement with such a comment has a connection of its own. */
const onItsOwn = (query: string) => query.replace(/FORMAT \w+$/, '/* */ $&');

const exists = async (table: string) =>
  (
    await send(`SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = '${table}' FORMAT TSV`)
  )[2];

describe('PARALLEL WITH, whose further statements the engine does not check, is refused', () => {
  const create = (name: string) => `CREATE TABLE ${name} (n UInt8) ENGINE = Memory`;

  test.each([
    ['after a SELECT', `SELECT 1 PARALLEL WITH ${create('by_select')} FORMAT TSV`, 'by_select'],
    ['after a CREATE', `${create('first')} PARALLEL WITH ${create('by_create')}`, 'by_create'],
    ['after comments', `SELECT 1 PARALLEL /**/ WITH -- x\n ${create('by_comment')}`, 'by_comment'],
  ])('%s', async (_, query, table) => {
    for (const method of ['GET', 'POST']) expect((await send(query, {}, method))[1]).toBe('497');
    expect(await exists(table)).toBe('0\n');
  });

  test('but the words may be in a string', async () => {
    expect(await send("SELECT 'a PARALLEL WITH b' AS parallel FORMAT TSV", {}, 'GET')).toEqual([
      ...[200, null],
      'a PARALLEL WITH b\n',
    ]);
  });
});

describe('a read on a shared connection answers as on a connection of its own', () => {
  const dates = { time: '2026-02-30 00:00:00', precise: '2026-02-30 00:00:00.123' };
  const zero = { time: '0000-00-00 00:00:00', precise: '0000-00-00 00:00:00.000' };
  test.each<[string, string, Record<string, string>]>([
    ['a setting by a parameter', 'SELECT 1 SETTINGS max_threads = {p:UInt64} FORMAT TSV', { param_p: '3' }],
    [
      'a long parameter, three times',
      'SELECT length({p:String} || {p:String} || {p:String}) FORMAT TSV',
      { param_p: 'x'.repeat(100_000) },
    ],
    ['max_parser_depth', `SELECT ${'('.repeat(250)}1${')'.repeat(250)} FORMAT TSV`, { max_parser_depth: '10000' }],
    ['a time that does not exist', "SELECT {p:DateTime('UTC')} FORMAT TSV", { param_p: dates.time }],
    ['a precise time that does not exist', "SELECT {p:DateTime64(3, 'UTC')} FORMAT TSV", { param_p: dates.precise }],
    ['the time zero', "SELECT {p:DateTime('UTC')} FORMAT TSV", { param_p: zero.time }],
    ['the precise time zero', "SELECT {p:DateTime64(3, 'UTC')} FORMAT TSV", { param_p: zero.precise }],
    ['a raw tab', 'SELECT {p:String} FORMAT TSV', { param_p: 'a\tb' }],
    ['a raw line feed', 'SELECT {p:String} FORMAT TSV', { param_p: 'a\nb' }],
    ['the name of a column', 'SELECT {p:String} FORMAT JSONEachRow', { param_p: 'a' }],
    ['a string that must be a literal', 'SELECT * FROM values({p:String}, 1) FORMAT TSV', { param_p: 'x UInt8' }],
    ['typographic quotes', 'SELECT ‘{p:String}’ FORMAT TSV', { param_p: 'a' }],
    ['typographic quotes around a quote', "SELECT ‘'’, {p:String}, ‘'’ FORMAT TSV", { param_p: 'a' }],
    ['readonly that is no number', 'SELECT 1 FORMAT TSV', { readonly: 'abc' }],
    ['readonly with a leading zero', 'SELECT 1 SETTINGS max_threads = 3 FORMAT TSV', { readonly: '01' }],
  ])('%s', async (_, query, members) => {
    expect(await send(query, members)).toEqual(await send(onItsOwn(query), members));
  });
});
