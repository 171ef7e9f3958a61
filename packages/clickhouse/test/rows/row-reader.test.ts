import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { ClickHouseError } from '@clickhouse/client';
import { createTestDatabase, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClickHouseClient, isInfrastructureError } from '../../src/index.js';
import { createRowReader, type RowReader, type RowReaderOptions, type RowsRead } from '../../src/rows/row-reader.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function aReader(options: Partial<RowReaderOptions> & Pick<RowReaderOptions, 'url'>) {
  const reader = createRowReader({
    user: 'default',
    password: '',
    database: 'default',
    timeoutMs: 20_000,
    connectionsMax: 2,
    isCompressed: false,
    settings: {},
    ...options,
  });
  onTestFinished(() => reader.close());
  return reader;
}

async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('strings with line feeds, quotes and NUL arrive unchanged, and an empty result has no rows', async () => {
  const texts = ['a\nb\r\n', '"],\n["', "'\\'", '\0', '😀', ''];
  const rows = (query: string) => database.client.rows<[string]>({ query, parameters: { texts } });
  expect(await rows('SELECT arrayJoin({texts:Array(String)})')).toEqual(texts.map((text) => [text]));
  expect(await rows("SELECT arrayJoin({texts:Array(String)}) AS text WHERE text = 'none'")).toEqual([]);
});

/** The ways to read all rows: parsed at once, and each when it is read. */
const WAYS: readonly [string, (reader: RowReader, statement: RowsRead) => Promise<unknown[]>][] = [
  ['rows', (reader, statement) => reader.rows(statement)],
  ['lazyRows', async (reader, statement) => [...(await reader.lazyRows(statement))]],
];

describe.each(WAYS)('%s', (_way, read) => {
  it('a compressed response has the same rows', async () => {
    const query = 'SELECT number, repeat(toString(number), 50) FROM numbers(100)';
    const { origin: url, username: user, password } = new URL(database.url);
    const plain = await read(aReader({ url, user, password }), { query });
    expect(plain).toHaveLength(100);
    expect(await read(aReader({ url, user, password, isCompressed: true }), { query })).toEqual(plain);
  });

  it.each([
    ['no rows', Buffer.alloc(0), []],
    ['no rows, compressed all the same', gzipSync(''), []],
    ['rows', gzipSync('["é"]\n'), [['é']]],
  ])('a compressed answer may have %s', async (_what, body, expected) => {
    const url = await serving((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    });
    expect(await read(aReader({ url, isCompressed: true }), { query: 'SELECT 1' })).toEqual(expected);
  });

  it.each([
    ['a refusal', 404, gzipSync('Code: 60. DB::Exception: Unknown table. (UNKNOWN_TABLE)'), { code: '60' }],
    ['an answer that was cut off', 200, gzipSync('["1"]\n'.repeat(100)).subarray(0, 20), { code: 'Z_BUF_ERROR' }],
  ])('%s may be compressed', async (_what, status, body, expected) => {
    const url = await serving((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-encoding': 'gzip' }).end(body);
    });
    const err = await read(aReader({ url, isCompressed: true }), { query: 'SELECT 1' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(err).toMatchObject(expected);
    expect(isInfrastructureError(err)).toBe(true);
  });

  it('a query that fails after its first rows rejects with the error', async () => {
    const message = 'Code: 241. DB::Exception: (total) memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n';
    const url = await serving((request, response) => {
      request.resume();
      response.writeHead(200, { 'X-ClickHouse-Exception-Tag': 'abcdefghijklmnop' });
      const end = `${message.length} abcdefghijklmnop\r\n__exception__\r\n`;
      response.end(`["1"]\n\r\n__exception__\r\nabcdefghijklmnop\r\n${message}${end}`);
    });
    const err = await read(aReader({ url }), { query: 'SELECT 1' }).catch((thrown: unknown) => thrown);
    expect(err).toBeInstanceOf(ClickHouseError);
    expect(err).toMatchObject({ code: '241' });
  });

  it('an error at the end is found, however the response is divided', async () => {
    const message = 'Code: 241. DB::Exception: (total) memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n';
    const end = `${message.length} abcdefghijklmnop\r\n__exception__\r\n`;
    const bytes = Buffer.from(`["1"]\n\r\n__exception__\r\nabcdefghijklmnop\r\n${message}${end}`);
    const url = await serving(async (request, response) => {
      request.resume();
      response.writeHead(200, { 'X-ClickHouse-Exception-Tag': 'abcdefghijklmnop' });
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    await expect(read(aReader({ url }), { query: 'SELECT 1' })).rejects.toMatchObject({ code: '241' });
  });

  it.each([
    ['a proxy gave', 502, '<html>Bad Gateway</html>'],
    ['is no rows', 200, '<html>\nWelcome\n</html>\n'],
    ['ends in the middle of a row', 200, '["1"]\n["2'],
  ])('an answer that %s may come later', async (_what, status, body) => {
    const url = await serving((request, response) => {
      request.resume();
      response.writeHead(status).end(body);
    });
    const err = await read(aReader({ url }), { query: 'SELECT 1' }).catch((thrown: unknown) => thrown);
    expect(isInfrastructureError(err)).toBe(true);
  });

  it.each([
    ['with a length', { 'content-length': '100' }],
    ['in chunks', {}],
  ])('an answer %s whose connection is cut between two rows may come later', async (_how, headers) => {
    const url = await serving((request, response) => {
      request.resume();
      response.writeHead(200, headers).write('["1"]\n', () => response.destroy());
    });
    const err = await read(aReader({ url }), { query: 'SELECT 1' }).catch((thrown: unknown) => thrown);
    expect(isInfrastructureError(err)).toBe(true);
  });

  it('closing the reader ends a read in the middle of the answer', async () => {
    const url = await serving((request, response) => {
      request.resume();
      response.writeHead(200).write('["1"]\n');
    });
    const reader = aReader({ url, timeoutMs: 60_000 });
    const headers = new EventEmitter();
    const areRead = once(headers, 'read');
    const statement = { query: 'SELECT 1', onSummary: () => void headers.emit('read') };
    const rows = read(reader, statement).catch((thrown: unknown) => thrown);
    await areRead;
    await reader.close();
    expect(isInfrastructureError(await rows)).toBe(true);
  });

  it('rows arrive whole, however the response is divided', async () => {
    const rows = [['é\n'], [1, '😀'.repeat(20)], []];
    const bytes = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const url = await serving(async (request, response) => {
      request.resume();
      response.writeHead(200);
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    expect(await read(aReader({ url }), { query: 'SELECT 1' })).toEqual(rows);
  });
});

it('an error at the end of a large result rejects before its first row is read', async () => {
  const message = 'Code: 241. DB::Exception: (total) memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n';
  const url = await serving((request, response) => {
    request.resume();
    response.writeHead(200, { 'X-ClickHouse-Exception-Tag': 'abcdefghijklmnop' });
    const end = `${message.length} abcdefghijklmnop\r\n__exception__\r\n`;
    response.end(`${'["1"]\n'.repeat(50_000)}\r\n__exception__\r\nabcdefghijklmnop\r\n${message}${end}`);
  });
  await expect(aReader({ url }).lazyRows({ query: 'SELECT 1' })).rejects.toMatchObject({ code: '241' });
});

it('credentials, database and settings are sent', async () => {
  const seen: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  const url = await serving((request, response) => {
    seen.push(request);
    request.resume().once('end', () => response.end('[1]\n'));
  });
  const reader = aReader({ url, user: 'me', password: 'pä:ss', database: 'd b', settings: { a: 1 } });
  await reader.rows({ query: 'SELECT 1', settings: { b: true, c: undefined } });
  const ending = 'readonly=2&cancel_http_readonly_queries_on_client_close=1&max_execution_time=19';
  expect(seen[0]?.url).toBe(`/?database=d+b&${ending}&a=1&b=1`);
  expect(seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:pä:ss').toString('base64')}`);
});

it.each([
  ['is cut in the middle', (request: IncomingMessage) => void request.socket.destroy()],
  ['does not come in time', () => undefined],
])('an answer that %s may come later', async (_what, answer) => {
  const url = await serving(answer);
  const err = await aReader({ url, timeoutMs: 100 })
    .rows({ query: 'SELECT 1' })
    .catch((thrown: unknown) => thrown);
  expect(isInfrastructureError(err)).toBe(true);
});

it('a timeout is reported as such, before the headers and during the body', async () => {
  const url = await serving((request, response) => {
    request.resume();
    if (request.url?.includes('slow-body')) response.writeHead(200).write('[1]\n');
  });
  for (const queryId of ['slow-head', 'slow-body']) {
    const signal = AbortSignal.timeout(100);
    const err = await aReader({ url })
      .rows({ query: 'SELECT 1', queryId, signal })
      .catch((thrown: unknown) => thrown);
    expect(err).toBe(signal.reason);
    expect(isInfrastructureError(err)).toBe(true);
  }
});

it('a response that is not HTTP is a temporary error', async () => {
  const url = await serving((request) => void request.socket.end('SSH-2.0-OpenSSH\r\n'));
  const err = await aReader({ url })
    .rows({ query: 'SELECT 1' })
    .catch((thrown: unknown) => thrown);
  expect(isInfrastructureError(err)).toBe(true);
});

it.each([
  ['http://me:p%C3%A4%3Ass@', {}, 'me:pä:ss'],
  ['http://:secret@', {}, 'default:secret'],
  ['http://me@', { password: 'beside' }, 'me:beside'],
  ['http://', { user: 'you', password: 'beside' }, 'you:beside'],
  ['http://', {}, 'default:'],
])('both halves of a client for %s log in alike', async (start, beside, expected) => {
  const seen: (string | undefined)[] = [];
  const url = await serving((request, response) => {
    seen.push(request.headers.authorization);
    request.resume().once('end', () => response.end('[1]\n'));
  });
  const client = createClickHouseClient({ url: url.replace('http://', start), database: 'default', ...beside });
  onTestFinished(() => client.close());
  await client.rows({ query: 'SELECT 1' });
  await client.command({ query: 'SELECT 1' });
  expect(seen).toEqual(Array(2).fill(`Basic ${Buffer.from(expected).toString('base64')}`));
});

const ENDLESS = 'SELECT sum(cityHash64(number)) FROM numbers(10000000000000)';

it('ClickHouse ends a read before its client gives up, and one whose client has left; and a read cannot write', async () => {
  const client = createClickHouseClient({ url: database.url, database: database.database, requestTimeoutMs: 3_000 });
  onTestFinished(() => client.close());
  // On a busy machine the error of ClickHouse may come too late; a client that gives up first does so each time.
  const codes: unknown[] = [];
  while (codes.length < 3 && !codes.includes('159'))
    codes.push(await client.rows({ query: ENDLESS }).catch(({ code }: { code?: string }) => code));
  expect(codes).toContain('159');

  const mark = randomUUID();
  const count = `SELECT count() FROM system.processes WHERE Settings['log_comment'] = {mark:String}`;
  const isRunning = async () => {
    const [row] = await database.client.rows<[string]>({ query: count, parameters: { mark } });
    return row?.[0] === '1';
  };
  const caller = new AbortController();
  const settings = { log_comment: mark, max_execution_time: 60 };
  const left = database.client.rows({ query: ENDLESS, settings, signal: caller.signal }).catch(() => 'left');
  await waitFor(isRunning, { what: 'the read' });
  caller.abort();
  expect(await left).toBe('left');
  await waitFor(async () => !(await isRunning()), { what: 'its end', timeoutMs: 20_000 });

  await expect(client.rows({ query: 'TRUNCATE TABLE click_events' })).rejects.toMatchObject({ code: '164' });
});

it('closing a reader does not wait for a hanging server', async () => {
  const asked = new EventEmitter();
  const reader = aReader({ url: await serving(() => void asked.emit('asked')), timeoutMs: 60_000 });
  const isAsked = once(asked, 'asked');
  const read = reader.rows({ query: 'SELECT 1' }).catch((thrown: unknown) => thrown);
  await isAsked;
  await reader.close();
  expect(isInfrastructureError(await read)).toBe(true);
});

it('a closed client rejects reads', async () => {
  const client = createClickHouseClient({ url: database.url, database: 'default' });
  expect(await client.rows({ query: 'SELECT 1' })).toEqual([[1]]);
  await client.close();
  await expect(client.rows({ query: 'SELECT 1' })).rejects.toThrow();
});
