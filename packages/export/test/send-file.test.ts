import { createApp, createLogger } from '@waymark/http-kit';
import { expect, onTestFinished, test } from 'vitest';
import { createExportSlots, sendFile } from '../src/index.js';

test('a file has begun with its first bytes, however long its client reads', async () => {
  const app = createApp({
    ...{ logger: createLogger({ name: 'test', level: 'silent' }), docBase: 'https://d.example', trustedProxies: [] },
  });
  onTestFinished(() => app.close());
  let hasBegun: number | undefined;
  let goOn = () => {};
  const isRead = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  async function* bytes() {
    yield Buffer.from('a');
    await isRead;
    yield Buffer.from('b');
  }
  const slots = createExportSlots();
  app.get('/file', (request, reply) => {
    const file = { name: 'a.txt', mediaType: 'text/plain', isCompressed: true, trailers: {} };
    const sent = sendFile(reply, { ...file, bytes: bytes(), slot: slots.take('ws_1') });
    void sent.then(() => {
      hasBegun = request.streamBeganMs;
    });
    return sent;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const response = await fetch(`${url}/file`);
  const reader = response.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('a');
  goOn();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('b');
  expect(hasBegun).toBeGreaterThan(0);
});

test('a file that is cut off before any of it was sent is an error response without the headers of the file', async () => {
  const app = createApp({
    ...{ logger: createLogger({ name: 'test', level: 'silent' }), docBase: 'https://d.example', trustedProxies: [] },
  });
  onTestFinished(() => app.close());
  async function* bytes() {
    yield Buffer.from('a');
  }
  app.get('/file', (_request, reply) => {
    const file = { name: 'a.txt', mediaType: 'text/plain', isCompressed: false, trailers: { 'x-rows': () => '1' } };
    return sendFile(reply, { ...file, bytes: bytes(), slot: { signal: AbortSignal.abort(), free() {} } });
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const response = await fetch(`${url}/file`, { headers: { 'accept-encoding': 'gzip' } });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: 'internal_server_error' } });
  for (const name of ['trailer', 'content-encoding', 'content-disposition']) {
    expect(response.headers.get(name), name).toBeNull();
  }
});

test('a file that fails before its first byte frees its slot', async () => {
  const app = createApp({
    ...{ logger: createLogger({ name: 'test', level: 'silent' }), docBase: 'https://d.example', trustedProxies: [] },
  });
  onTestFinished(() => app.close());
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield await Promise.reject(new Error('the store is away'));
  }
  const slots = createExportSlots();
  app.get('/file', (_request, reply) => {
    const file = { name: 'a.txt', mediaType: 'text/plain', isCompressed: true, trailers: {} };
    return sendFile(reply, { ...file, bytes: bytes(), slot: slots.take('ws_1') });
  });
  const statuses: number[] = [];
  for (let time = 0; time < 4; time++) statuses.push((await app.inject('/file')).statusCode);
  expect(statuses).toEqual([500, 500, 500, 500]);
});
