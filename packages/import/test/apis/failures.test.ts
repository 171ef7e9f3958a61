import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openApi } from '../../src/index.js';
import { KEY, NOW, outbound, read } from './read-api.js';
import { type StubAnswer, startStub } from './stub-server.js';

describe('an API', () => {
  it('that fails for a while is retried after growing pauses; a date in Retry-After is used', async () => {
    const { keys, waits } = await read('kutt', ({ query }, number) => {
      if (number <= 2) return { status: 503 };
      if (number === 3) return { status: 429, headers: { 'retry-after': new Date(NOW + 30_000).toUTCString() } };
      return {
        json: { data: query.skip === '0' ? [{ address: 'a', target: 'https://a.test', domain: 'k.test' }] : [] },
      };
    });
    expect(keys).toEqual(['a']);
    expect(waits).toEqual([1000, 2000, 30_000]);
  });

  it('that is unavailable for some minutes after an answer is retried, after the pause of Retry-After if it is longer', async () => {
    const page = (skip: string | undefined) => ({
      json: { data: skip === '0' ? [{ address: 'a', target: 'https://a.test', domain: 'k.test' }] : [] },
    });
    const { keys, waits } = await read('kutt', ({ query }, number) => {
      if (number === 2) return { status: 503, headers: { 'retry-after': '600' } };
      return number > 2 && number <= 12 ? { status: 502 } : page(query.skip);
    });
    expect(keys).toEqual(['a']);
    const growing = [2000, 4000, 8000, 16_000, 32_000];
    expect(waits).toEqual([600_000, ...growing, ...Array(5).fill(60_000)]);
  });

  it.each([408, 425])('that answers %d for a while, as a proxy under load may, is retried', async (status) => {
    const { keys, waits } = await read('kutt', (_request, number) =>
      number <= 2 ? { status } : { json: { data: [] } },
    );
    expect([keys, waits]).toEqual([[], [1000, 2000]]);
  });

  it('that is unavailable with a short Retry-After is retried after the same growing pauses as one without it', async () => {
    const away = { status: 503, headers: { 'retry-after': '1' } };
    const { waits } = await read('kutt', (_request, number) => (number <= 5 ? away : { json: { data: [] } }));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000]);
  });

  it('that answers each attempt with a Retry-After of an hour ends the import', async () => {
    const stub = await startStub(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    onTestFinished(() => stub.close());
    const waits: number[] = [];
    const { rows } = await openApi({
      ...{ source: 'kutt', address: stub.address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async (ms) => void waits.push(ms) },
    });
    await expect(rows[Symbol.asyncIterator]().next()).rejects.toThrow('does not answer: answers 503');
    expect(waits).toEqual([3_600_000, 3_600_000]);
  });

  it('that answers in a way that is refused ends the import at once, and is not said to be silent', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const waits: number[] = [];
    const { rows } = await openApi({
      ...{ source: 'kutt', address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async (ms) => void waits.push(ms) },
    });
    const reason = `${address} cannot be read: the answer changes the protocol`;
    await expect(rows[Symbol.asyncIterator]().next()).rejects.toThrow(reason);
    expect(waits).toEqual([]);
  });

  it('that stays away after it has answered ends the import after some ten minutes', async () => {
    const waits: number[] = [];
    const stub = await startStub((_request, number) =>
      number === 1
        ? { json: { data: [{ address: 'a', target: 'https://a.test', domain: 'k.test' }] } }
        : { status: 502 },
    );
    onTestFinished(() => stub.close());
    const { rows } = await openApi({
      ...{ source: 'kutt', address: stub.address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async (ms) => void waits.push(ms) },
    });
    const reading = (async () => {
      for await (const _row of rows);
    })();
    await expect(reading).rejects.toThrow('does not answer: answers 502');
    expect(waits.reduce((sum, ms) => sum + ms) / 60_000).toBeCloseTo(10, 0);
  });

  it('that refuses for a while without Retry-After is retried after growing pauses, a minute at most', async () => {
    const { waits } = await read('kutt', (_request, number) =>
      number <= 9 ? { status: 429 } : { json: { data: [] } },
    );
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it.each<[string, StubAnswer, string]>([
    ['refuses the key', { status: 401, json: { message: 'bad key' } }, 'refuses the credentials (401)'],
    [
      'redirects',
      { status: 302, headers: { location: 'https://elsewhere.test/' } },
      'redirects to https://elsewhere.test/',
    ],
    ['answers a page of HTML', { text: '<html>' }, 'does not answer JSON: <html>'],
    ['quotes the key', { status: 400, text: `${'x'.repeat(190)}${KEY}` }, `answers 400: ${'x'.repeat(190)}…`],
    ['redirects with the key', { status: 302, headers: { location: `/${KEY}` } }, 'redirects to /…: give'],
    ['answers without a list', { json: { data: {} } }, 'has no list "data"'],
    ['stays away', { status: 500 }, 'does not answer: answers 500'],
  ])('that %s ends the import with the reason, which never has the key', async (_what, answer, message) => {
    const failure = await read('kutt', () => answer).catch((err: Error) => err);
    expect(failure).toMatchObject({ name: 'ImportError', message: expect.stringContaining(message) });
    expect(String(failure)).not.toContain(KEY.slice(0, 5));
  });
});
