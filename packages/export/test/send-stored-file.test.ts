import { once } from 'node:events';
import { rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { ApiError } from '@waymark/contract';
import { type App, createApp, createLogger } from '@waymark/http-kit';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createExportSlots, type ExportSlots, sendStoredFile } from '../src/index.js';

const TEXT = 'id\r\nlink_1\r\n';
const SIZE = TEXT.length;
const MODIFIED = 'Wed, 25 Nov 2026 10:00:00 GMT';
const EARLIER = 'Wed, 25 Nov 2026 09:00:00 GMT';
const LATER = 'Wed, 25 Nov 2026 11:00:00 GMT';

/** A file with more bytes than the buffers of all sockets. */
const LARGE_BYTES = 64 * 1024 ** 2;
const CHECK_EVERY_MS = 60_000;

let slots: ExportSlots;
/** Warnings and errors. */
const log = new PassThrough();
let app: App;
let directory: string;
let url: string;
let etag: string;
/** When the last response began, in milliseconds from its request. */
let beganMs: number | undefined;

beforeAll(async () => {
  directory = temporaryDirectory('stored-file-');
  slots = createExportSlots();
  for (const [name, text] of Object.entries({ 'a.csv': TEXT, 'empty.csv': '' })) {
    writeFileSync(join(directory, name), text);
    // With a part of a second, which HTTP dates do not have.
    utimesSync(join(directory, name), new Date(), Date.parse(MODIFIED) / 1000 + 0.25);
  }
  writeFileSync(join(directory, 'large.csv'), '');
  truncateSync(join(directory, 'large.csv'), LARGE_BYTES);
  app = createApp({
    logger: createLogger({ name: 'test', level: 'warn', destination: log }),
    docBase: 'https://d.example',
    trustedProxies: [],
  });
  app.addHook('onResponse', async (request) => {
    beganMs = request.streamBeganMs;
  });
  app.register(async (routes) => {
    routes.get<{ Params: { name: string } }>('/:name', async ({ params: { name } }, reply) => {
      const file = { path: join(directory, name), name, contentType: 'text/csv' };
      const takeSlot = () => slots.takeDownload('a');
      if (!(await sendStoredFile(reply, file, { takeSlot, checkEveryMs: CHECK_EVERY_MS })))
        throw new ApiError('not_found', 'gone');
      return reply;
    });
  });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
  etag = (await load()).headers.get('etag') ?? '';
});
afterAll(async () => {
  await app.close();
  rmSync(directory, { recursive: true });
});

async function load(headers: Record<string, string> = {}, method = 'GET', name = 'a.csv') {
  const response = await fetch(`${url}/${name}`, { method, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const errorOf = ({ text }: { text: string }) => (JSON.parse(text) as { error: { code: string } }).error.code;

test('a file has begun before its bytes are sent, however long its client reads', async () => {
  await load();
  await waitFor(async () => beganMs, { what: 'the end of the response' });
  expect(beganMs).toBeGreaterThan(0);
});

test('the entity tag of a file is strong', () => {
  expect(etag).toMatch(/^"[^"]+"$/);
});

describe('HEAD', () => {
  const NAMES = ['content-length', 'content-type', 'content-disposition', 'etag', 'last-modified', 'accept-ranges'];

  test.each(['a.csv', 'empty.csv'])('has the headers of GET and no body, whatever its range: %s', async (name) => {
    const [head, get] = [await load({ range: 'bytes=0-1' }, 'HEAD', name), await load({}, 'GET', name)];
    const headersOf = ({ headers }: typeof head) => NAMES.map((header) => headers.get(header));
    expect([head.status, head.text, ...headersOf(head)]).toEqual([200, '', ...headersOf(get)]);
    expect(headersOf(get)).not.toContain(null);
  });

  test('of a missing file is 404, like GET', async () => {
    expect([(await load({}, 'HEAD', 'none')).status, (await load({}, 'GET', 'none')).status]).toEqual([404, 404]);
  });
});

describe('Range', () => {
  test.each([
    ['bytes=4-9', 4, 9],
    ['Bytes=0-0', 0, 0],
    ['bytes=4-', 4, SIZE - 1],
    ['bytes=4-999999999999999999999999', 4, SIZE - 1],
    ['bytes=-2', SIZE - 2, SIZE - 1],
    ['bytes=-999999999', 0, SIZE - 1],
  ])('%s is answered with that part', async (range, start, end) => {
    const answer = await load({ range });
    expect([answer.status, answer.text]).toEqual([206, TEXT.slice(start, end + 1)]);
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end}/${SIZE}`);
    expect(answer.headers.get('content-length')).toBe(String(end + 1 - start));
  });

  test.each([
    'bytes=a-b',
    'bytes=5-2',
    'bytes=',
    'bytes=-',
    'bytes=1',
    'bytes 0-1',
    'lines=0-1',
    'bytes=0-1,3-4',
    '0-1',
  ])('%s is ignored', async (range) => {
    const answer = await load({ range });
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([200, TEXT, null]);
  });

  test.each([
    ['a.csv', `bytes=${SIZE}-`, SIZE],
    ['a.csv', 'bytes=999999999999999999999999-', SIZE],
    ['a.csv', 'bytes=-0', SIZE],
    ['empty.csv', 'bytes=0-', 0],
  ])('of %s beyond its end is an error of the API, and no file to save: %s', async (name, range, size) => {
    const answer = await load({ range }, 'GET', name);
    expect([answer.status, errorOf(answer)]).toEqual([416, 'unprocessable_entity']);
    expect(answer.headers.get('content-range')).toBe(`bytes */${size}`);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe(null);
  });

  test.each([
    ['its tag', () => etag, 206],
    ['the time of its change', () => MODIFIED, 206],
    ['its tag as a weak one', () => `W/${etag}`, 200],
    ['another tag', () => '"other"', 200],
    ['a part of its tag', () => etag.slice(0, -2), 200],
    ['a later time', () => LATER, 200],
  ])('with If-Range of %s', async (_what, ifRange, status) => {
    expect((await load({ range: 'bytes=4-', 'if-range': ifRange() })).status).toBe(status);
  });
});

describe('a condition', () => {
  test.each<[string, () => string, number]>([
    ['if-match', () => etag, 200],
    ['if-match', () => `"other", ${etag}`, 200],
    ['if-match', () => '*', 200],
    ['if-match', () => '"other"', 412],
    ['if-match', () => `W/${etag}`, 412],
    ['if-unmodified-since', () => MODIFIED, 200],
    ['if-unmodified-since', () => EARLIER, 412],
    ['if-unmodified-since', () => 'no time', 200],
    ['if-none-match', () => etag, 304],
    ['if-none-match', () => `W/${etag}`, 304],
    ['if-none-match', () => '*', 304],
    ['if-none-match', () => '"other"', 200],
    ['if-modified-since', () => MODIFIED, 304],
    ['if-modified-since', () => EARLIER, 200],
    ['if-modified-since', () => 'no time', 200],
  ])('%s: %s answers %i', async (name, value, status) => {
    const answer = await load({ [name]: value(), 'cache-control': 'max-age=0' });
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.text).toBe(TEXT);
    if (status === 304) expect([answer.text, answer.headers.get('etag')]).toEqual(['', etag]);
    if (status === 412) expect(errorOf(answer)).toBe('unprocessable_entity');
  });
});

test('the header x-accel-buffering keeps proxies from buffering a file', async () => {
  expect((await load()).headers.get('x-accel-buffering')).toBe('no');
});

/** A client that has requested the large file and reads nothing, and its connection at the server. */
async function aReader(): Promise<{ readonly client: Socket; readonly served: Socket }> {
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  onTestFinished(() => void client.destroy());
  // A connection that is cut off may be reported as a reset.
  client.on('error', () => undefined);
  client.write('GET /large.csv HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  return { client, served: (await accepted)[0] };
}

/** Waits until the server can write no more on a connection. */
async function untilFull(served: Socket): Promise<void> {
  let before = 0;
  await waitFor(
    () => {
      const isFull = served.bytesWritten === before && served.writableNeedDrain;
      before = served.bytesWritten;
      return isFull;
    },
    { what: 'the buffers of the connection to be full' },
  );
}

describe('a client that reads nothing', () => {
  test('is cut off when it has taken no byte between two checks, and not before', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, served } = await aReader();
    await untilFull(served);
    vi.advanceTimersByTime(CHECK_EVERY_MS);
    const written = served.bytesWritten;
    client.resume();
    await waitFor(() => served.bytesWritten > written, { what: 'the client to have read' });
    client.pause();
    await untilFull(served);
    vi.advanceTimersByTime(CHECK_EVERY_MS);
    expect(served.destroyed).toBe(false);
    vi.advanceTimersByTime(CHECK_EVERY_MS);
    expect(served.destroyed).toBe(true);
  });

  test('holds one of ten downloads of its workspace, until it disconnects', async () => {
    const readers: Socket[] = [];
    while (readers.length < 10) {
      const { client, served } = await aReader();
      await untilFull(served);
      readers.push(client);
    }
    const refused = await load({}, 'GET', 'large.csv');
    expect([refused.status, errorOf(refused)]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await load({}, 'HEAD', 'large.csv')).status).toBe(200);
    expect((await load({ 'if-none-match': '*' }, 'GET', 'large.csv')).status).toBe(304);
    readers[0]?.destroy();
    await waitFor(async () => (await load()).status === 200, { what: 'a free slot' });
  });
});

test('none of these answers has logged an error', () => {
  expect(log.read()?.toString() ?? '').toBe('');
});

// Last, because a download that is cut off is logged.
test('a client that reads nothing is cut off when the time that a shutdown leaves to downloads is over', async () => {
  const others = slots;
  slots = createExportSlots({ closeGraceMs: 0 });
  onTestFinished(() => {
    slots = others;
  });
  const { served } = await aReader();
  await untilFull(served);
  slots.close();
  await waitFor(() => served.destroyed, { what: 'the connection to be closed', timeoutMs: 20_000 });
});
