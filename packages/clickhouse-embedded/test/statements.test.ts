import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { createTestDatabase, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createEmbeddedServer } from '../src/index.js';
import { authorizationOf, fetchWithPassword, withoutPassword } from './fetch-with-password.js';

const SERVER_OPTIONS = { password: 'x', version: 'test', requestBytesMax: 1, baseSettings: {} };

let db: TestDatabase;
let client: ClickHouseClient;
beforeAll(async () => {
  db = await createTestDatabase({ migrated: false });
  ({ client } = db);
  const server = createClient({ url: db.url });
  await server.command({ query: `CREATE DATABASE ${db.database}` });
  await server.close();
});
afterAll(() => db.drop());

function url(members: Record<string, string>): string {
  return `${db.url}/?${new URLSearchParams({ database: db.database, ...members })}`;
}

async function one<T>(query: string, more: object = {}): Promise<T> {
  const result = await client.query({ query, format: 'JSONEachRow', ...more });
  const [row] = await result.json<T>();
  return row as T;
}

describe('over plain HTTP', () => {
  test('/ping and a bare GET answer Ok, and there are no other paths', async () => {
    expect(await (await fetchWithPassword(`${db.url}/ping`)).text()).toBe('Ok.\n');
    expect(await (await fetchWithPassword(`${db.url}/`)).text()).toBe('Ok.\n');
    expect((await fetchWithPassword(`${db.url}/play`)).status).toBe(404);
  });

  test('the Keep-Alive header lets clients close idle connections long before the server does', async () => {
    const server = createEmbeddedServer({ run: () => Promise.reject(new Error('unused')) }, SERVER_OPTIONS);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { headers } = await fetchWithPassword(
      `http://default:x@127.0.0.1:${(server.address() as AddressInfo).port}/ping`,
    );
    const [, seconds] = /^timeout=(\d+)$/.exec(headers.get('keep-alive') ?? '') ?? [];
    expect(Number(seconds) * 2_000).toBeLessThan(server.keepAliveTimeout);
  });

  test('the statement may be in the URL, in the body, or start in the URL and continue in the body', async () => {
    expect(await (await fetchWithPassword(url({ query: 'SELECT 1' }))).text()).toBe('1\n');
    expect(await (await fetchWithPassword(url({}), { method: 'POST', body: 'SELECT 2' })).text()).toBe('2\n');
    expect(await (await fetchWithPassword(url({ query: 'SELECT 3' }), { method: 'POST', body: ', 4' })).text()).toBe(
      '3\t4\n',
    );
  });

  test('the format comes from the statement, else from default_format, else from X-ClickHouse-Format', async () => {
    const named = await fetchWithPassword(url({ query: 'SELECT 1 AS n FORMAT JSONEachRow', default_format: 'CSV' }));
    expect([named.headers.get('x-clickhouse-format'), await named.text()]).toEqual(['JSONEachRow', '{"n":1}\n']);
    const byDefault = await fetchWithPassword(url({ query: "SELECT 'a,b'", default_format: 'CSV' }));
    expect(await byDefault.text()).toBe('"a,b"\n');
    const byHeader = await fetchWithPassword(url({ query: 'SELECT 1 AS n' }), {
      headers: { 'X-ClickHouse-Format': 'JSONEachRow' },
    });
    expect(await byHeader.text()).toBe('{"n":1}\n');
  });

  test('parameters may come as a form, as the client sends long ones', async () => {
    const long = '"\'\\\n😀'.repeat(3_000);
    const row = await one<{ text: string }>('SELECT {text:String} AS text', {
      query_params: { text: long },
      use_multipart_params: true,
    });
    expect(row.text).toBe(long);
  });

  test('a 30,000-character parameter also passes in the URL, in parts', async () => {
    const long = '漢'.repeat(30_000);
    expect(await one('SELECT {text:String} = {text:String} AS same', { query_params: { text: long } })).toEqual({
      same: 1,
    });
  });

  test.each([
    ['without settings', {}, ''],
    ['with readonly=0', { readonly: '0' }, ''],
    ['with another zero', { readonly: '00' }, ''],
    ['with a word', { readonly: 'false' }, ''],
    ['with a zero in the statement', {}, ' SETTINGS readonly = 0'],
  ])('GET changes nothing, %s', async (_, members, more) => {
    await fetchWithPassword(url({}), {
      method: 'POST',
      body: 'CREATE TABLE IF NOT EXISTS no_get (n UInt8) ENGINE = Memory',
    });
    const statements = ['CREATE TABLE by_get (n UInt8) ENGINE = Memory', 'DROP TABLE no_get', 'TRUNCATE TABLE no_get'];
    statements.push('INSERT INTO no_get SELECT 1', 'INSERT INTO no_get VALUES (1)');
    for (const query of statements) {
      const response = await fetchWithPassword(
        url({ ...members, query: query.startsWith('INSERT') ? query : query + more }),
      );
      expect([query, response.status]).not.toEqual([query, 200]);
    }
    const inserted = await fetchWithPassword(url({ ...members, query: `INSERT INTO no_get${more} SELECT 1` }));
    expect(inserted.status).not.toBe(200);
    const found = await fetchWithPassword(
      url({ query: "SELECT count() FROM no_get UNION ALL SELECT count() FROM system.tables WHERE name = 'by_get'" }),
    );
    expect(await found.text()).toBe('0\n0\n');
  });

  test.each([
    ['a page of a browser, by its Origin', { origin: 'https://evil.example' }],
    ['a page of a browser, by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
  ])('%s is not served', async (_, headers) => {
    expect((await fetchWithPassword(url({ query: 'SELECT 1' }), { headers })).status).toBe(403);
  });
});

describe('errors', () => {
  test.each([
    ['SELECT * FROM no_such_table', 404, '60', 'UNKNOWN_TABLE'],
    ['SELECT 1 +', 400, '62', 'SYNTAX_ERROR'],
    ['SELECT no_such_column FROM system.one', 404, '47', 'UNKNOWN_IDENTIFIER'],
    ['SELECT {missing:String}', 500, '456', 'UNKNOWN_QUERY_PARAMETER'],
    ["SELECT throwIf(1, 'on purpose')", 500, '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
    ['SELECT 1; SELECT 2', 400, '62', 'SYNTAX_ERROR'],
    ['   ', 400, '62', 'SYNTAX_ERROR'],
  ])('%s answers %i with code %s', async (query, status, code, name) => {
    const response = await fetchWithPassword(url({}), { method: 'POST', body: query });
    const text = await response.text();
    expect([response.status, response.headers.get('x-clickhouse-exception-code')]).toEqual([status, code]);
    expect(text).toMatch(new RegExp(`^Code: ${code}\\. DB::Exception: [\\s\\S]*\\(${name}\\) \\(version 26\\.`));
  });

  test('the client converts them to its own error type', async () => {
    await expect(client.query({ query: 'SELECT * FROM no_such_table' })).rejects.toMatchObject({
      code: '60',
      type: 'UNKNOWN_TABLE',
    });
  });

  test.each([
    [{ database: 'no_such_database' }, 404, '81'],
    [{ no_such_setting: '1' }, 404, '115'],
    [{ 'max_threads = 1, readonly': '0' }, 404, '115'],
    [{ 'param_a = 1, readonly': '0' }, 400, '36'],
    [{ session_id: 'mine' }, 501, '48'],
    [{ compress: '1' }, 501, '48'],
  ])('%o is refused', async (members, status, code) => {
    const response = await fetchWithPassword(url({ query: 'SELECT 1', ...(members as Record<string, string>) }));
    expect([response.status, response.headers.get('x-clickhouse-exception-code')]).toEqual([status, code]);
  });

  test('a semicolon at the end or inside a string does not start a second statement', async () => {
    expect(await (await fetchWithPassword(url({ query: 'SELECT 1;\n' }))).text()).toBe('1\n');
    expect(await (await fetchWithPassword(url({ query: "SELECT ';' || '; SELECT 2'" }))).text()).toBe(';; SELECT 2\n');
  });
});

describe('the state of a statement', () => {
  // Reads with their format share connections; other statements have one of their own.
  test.each(['', ' FORMAT TSV'])(
    'ends with it: settings, parameters and the database of 300 statements%s',
    async (end) => {
      const given = { max_threads: '7', insert_deduplication_token: 'leaked', param_p: 'leaked', join_use_nulls: '1' };
      const send = (members: Record<string, string>) => fetchWithPassword(`${db.url}/?${new URLSearchParams(members)}`);
      const withState = async () => {
        const query = `SELECT {p:String}, currentDatabase(), getSetting('join_use_nulls')${end}`;
        const answer = await (await send({ database: db.database, query, ...given })).text();
        expect(answer).toBe(`leaked\t${db.database}\ttrue\n`);
      };
      const withoutState = async () => {
        const probe = `SELECT currentDatabase(), getSetting('insert_deduplication_token'), getSetting('join_use_nulls')`;
        expect(await (await send({ query: probe + end })).text()).toBe('default\t\tfalse\n');
        const missing = await send({ query: `SELECT {p:String}${end}` });
        expect(missing.headers.get('x-clickhouse-exception-code')).toBe('456');
      };
      await Promise.all(Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? withState() : withoutState())));
    },
  );

  test.each(['', ' FORMAT TSV'])('its own settings take precedence over those of the request%s', async (end) => {
    const query = `SELECT getSetting('max_threads') SETTINGS max_threads = 3${end}`;
    expect(await (await fetchWithPassword(url({ query, max_threads: '5' }))).text()).toBe('3\n');
  });

  test('does not change a later read: after an error, or in a database that was dropped and created again', async () => {
    const other = `${db.database}_other`;
    const send = (query: string) =>
      fetchWithPassword(`${db.url}/?${new URLSearchParams({ database: other })}`, { method: 'POST', body: query });
    const create = async (n: number) => {
      await client.command({ query: `CREATE DATABASE ${other}` });
      await client.command({ query: `CREATE TABLE ${other}.t ENGINE = MergeTree ORDER BY n AS SELECT ${n} AS n` });
    };
    await create(1);
    for (let round = 0; round < 20; round++) {
      expect((await send('SELECT throwIf(n = 1) FROM t FORMAT TSV')).status).toBe(500);
      expect(await (await send('SELECT n FROM t FORMAT TSV')).text()).toBe('1\n');
    }
    await client.command({ query: `DROP DATABASE ${other}` });
    expect((await send('SELECT n FROM t FORMAT TSV')).status).toBe(404);
    await create(2);
    expect(await (await send('SELECT n FROM t FORMAT TSV')).text()).toBe('2\n');
    await client.command({ query: `DROP DATABASE ${other}` });
  });

  test('a deduplication token drops the repeated insert, but not the next one', async () => {
    await client.command({
      query: `CREATE TABLE tokens (n UInt32) ENGINE = MergeTree ORDER BY n
              SETTINGS non_replicated_deduplication_window = 100`,
    });
    const insert = (n: number, token?: string) =>
      client.insert({
        table: 'tokens',
        values: [{ n }],
        format: 'JSONEachRow',
        clickhouse_settings: token === undefined ? {} : { insert_deduplication_token: token },
      });
    const token = randomUUID();
    await insert(1, token);
    await insert(1, token);
    // Twenty in a row would use every connection of a pool.
    for (let n = 2; n < 22; n++) await insert(n);
    expect(await one('SELECT count() AS rows, uniqExact(n) AS numbers FROM tokens')).toEqual({
      rows: '21',
      numbers: '21',
    });
  });
});

describe('inserts and their summary', () => {
  beforeAll(() =>
    client.command({ query: 'CREATE TABLE rows (id UInt64, text String) ENGINE = MergeTree ORDER BY id' }),
  );

  test('rows arrive in both JSON formats, streamed and with a compressed body, and are counted', async () => {
    const compressed = createClient({
      url: db.url,
      database: db.database,
      compression: { request: true, response: true },
    });
    const first = await client.insert({
      table: 'rows',
      values: [
        { id: '18446744073709551615', text: "quote ' and ; and \\ and\nline" },
        { id: 1, text: '😀' },
      ],
      format: 'JSONEachRow',
    });
    expect(first.summary).toMatchObject({ written_rows: '2', read_rows: '2' });
    function* stream() {
      for (let id = 10; id < 1_010; id++) yield [id, 'streamed'];
    }
    const second = await compressed.insert({
      table: 'rows',
      values: Readable.from(stream()),
      format: 'JSONCompactEachRow',
    });
    expect(second.summary).toMatchObject({ written_rows: '1000' });
    await compressed.close();
    expect(await one('SELECT count() AS n, max(id) AS id FROM rows')).toEqual({
      n: '1002',
      id: '18446744073709551615',
    });
    expect(await one('SELECT text FROM rows ORDER BY id DESC LIMIT 1')).toEqual({
      text: "quote ' and ; and \\ and\nline",
    });
  });

  test('rows may be lines of text, the first of which may begin with an empty value', async () => {
    const query = 'INSERT INTO rows (text, id) FORMAT TabSeparated';
    const insert = await fetchWithPassword(url({ query }), { method: 'POST', body: '\t2001\na\\tb\t2002\n' });
    expect(insert.status).toBe(200);
    expect(
      await one(
        'SELECT groupArray(text) AS texts FROM (SELECT text FROM rows WHERE id BETWEEN 2001 AND 2002 ORDER BY id)',
      ),
    ).toEqual({
      texts: ['', 'a\tb'],
    });
  });

  test('a gzip body is decompressed, and a large response is compressed on request', async () => {
    const insert = await fetchWithPassword(url({ query: 'INSERT INTO rows FORMAT JSONEachRow' }), {
      method: 'POST',
      body: gzipSync('{"id":7,"text":"packed"}'),
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(insert.status).toBe(200);
    const [encoding, body] = await new Promise<[string | undefined, Buffer]>((resolve, reject) => {
      const target = url({ query: 'SELECT number FROM numbers(10000)', enable_http_compression: '1' });
      const headers = { 'Accept-Encoding': 'gzip', authorization: authorizationOf(target) };
      get(withoutPassword(target), { headers }, async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        resolve([response.headers['content-encoding'], Buffer.concat(chunks)]);
      }).once('error', reject);
    });
    expect(encoding).toBe('gzip');
    expect(gunzipSync(body).toString().split('\n')).toHaveLength(10_001);
  });

  test('an invalid gzip body inserts nothing and is an error', async () => {
    const response = await fetchWithPassword(url({ query: 'INSERT INTO rows FORMAT JSONEachRow' }), {
      method: 'POST',
      body: gzipSync('{"id":8,"text":"cut"}').subarray(0, -6),
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(response.status).toBe(500);
    expect(await one('SELECT count() AS n FROM rows WHERE id = 8')).toEqual({ n: '0' });
  });

  test('the statement itself may contain the values', async () => {
    await client.command({ query: "INSERT INTO rows VALUES (20001, 'a;b'), (20002, 'it''s')" });
    expect(await one('SELECT groupArray(text) AS texts FROM rows WHERE id > 20000 AND id < 30000')).toEqual({
      texts: ['a;b', "it's"],
    });
  });

  test('an invalid row makes the whole insert fail', async () => {
    const insert = client.insert({
      table: 'rows',
      values: [{ id: 40_001 }, { id: 'no number' }],
      format: 'JSONEachRow',
    });
    await expect(insert).rejects.toMatchObject({ code: '27' });
    expect(await one('SELECT count() AS n FROM rows WHERE id = 40001')).toEqual({ n: '0' });
  });
});

describe('limits and cancellation', () => {
  test('a result that is too large is refused, and the server continues', async () => {
    const query = 'SELECT number, repeat(toString(number), 200) FROM numbers(300000)';
    const result = client.query({ query, format: 'JSONEachRow' });
    await expect(result).rejects.toMatchObject({ code: '396', type: 'TOO_MANY_ROWS_OR_BYTES' });
    expect(await one('SELECT 1 AS n')).toEqual({ n: 1 });
  });

  test('a statement that needs too much memory is refused, and the server continues', async () => {
    const query = 'SELECT length(groupArray(toString(number))) AS n FROM numbers(5000000)';
    const result = client.query({ query, clickhouse_settings: { max_memory_usage: '100000000' } });
    await expect(result).rejects.toMatchObject({ code: '241' });
    expect(await one('SELECT 1 AS n')).toEqual({ n: 1 });
  });

  test('a request body that is too large is refused', async () => {
    const response = await fetchWithPassword(url({ query: 'INSERT INTO rows FORMAT JSONEachRow' }), {
      method: 'POST',
      body: gzipSync(Buffer.alloc(200 * 1024 * 1024, ' '), { level: 1 }),
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect([response.status, response.headers.get('x-clickhouse-exception-code')]).toEqual([413, '229']);
  });

  test('max_execution_time ends a statement', async () => {
    const query = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 0';
    const result = client.query({ query, clickhouse_settings: { max_execution_time: 1 } });
    await expect(result).rejects.toMatchObject({ code: '159' });
  });

  test('a statement is killed when its client disconnects', async () => {
    const mark = randomUUID();
    const leave = new AbortController();
    const query = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 0';
    const running = client.query({ query, abort_signal: leave.signal, clickhouse_settings: { log_comment: mark } });
    const count = async () => {
      const row = await one<{ n: string }>(
        "SELECT count() AS n FROM system.processes WHERE Settings['log_comment'] = {mark:String}",
        {
          query_params: { mark },
        },
      );
      return Number(row.n);
    };
    await waitFor(async () => (await count()) === 1, { what: 'the statement to run' });
    leave.abort();
    await expect(running).rejects.toThrow();
    await waitFor(async () => (await count()) === 0, { what: 'the statement to be killed' });
  });

  test('slow statements do not delay others', async () => {
    const leave = new AbortController();
    let ended = 0;
    // One second per block, a minute in total.
    const query = 'SELECT sleepEachRow(1) /* statements */ FROM numbers(60) SETTINGS max_block_size = 1';
    const slow = Array.from({ length: 5 }, () => client.query({ query, abort_signal: leave.signal }));
    const settled = Promise.allSettled(slow.map((one) => one.then(() => (ended += 1))));
    const count = "SELECT count() AS n FROM system.processes WHERE query LIKE 'SELECT sleepEachRow(1) /*%'";
    const running = async () => Number((await one<{ n: string }>(count)).n);
    await waitFor(async () => (await running()) >= slow.length, { what: 'the slow statements to run' });
    await one('SELECT 1 AS n');
    expect(ended).toBe(0);
    leave.abort();
    await settled;
  });
});
