import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { App } from '../../src/index.js';
import { aGate, aTestApp } from '../test-app.js';

const LONG = 20_000_000;

let app: App;
let entered = aGate();
let released = aGate();
const sockets: Socket[] = [];
afterEach(async () => {
  released.open();
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

async function listen(): Promise<number> {
  entered = aGate();
  released = aGate();
  ({ app } = aTestApp({}, (routes) => {
    routes.get('/work', async () => {
      entered.open();
      await released.opened;
      return { done: true };
    });
    routes.get('/long', async () => 'a'.repeat(LONG));
    routes.post('/', { schema: { body: z.object({ a: z.string() }) } }, async (request) => request.body);
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** A client that has sent these bytes and whose connection the server has accepted. */
async function aClient(port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  // A destroyed connection may be reported as a reset.
  socket.on('error', () => {});
  await Promise.all([once(app.server, 'connection'), once(socket, 'connect')]);
  if (bytes !== '') await new Promise((resolve) => socket.write(bytes, resolve));
  return socket;
}

/** Everything received until the connection closes. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

const head = (line: string) => `${line} HTTP/1.1\r\nhost: a\r\n`;

describe('the close of an app', { timeout: 30_000 }, () => {
  it.each([
    ['has not asked', ''],
    ['sent half of its headers', head('GET /long')],
    ['sent half of its body', `${head('POST /')}content-type: application/json\r\ncontent-length: 99\r\n\r\n{"a`],
    ['does not read its answer', `${head('GET /long')}\r\n`],
    ['does not read its answers', `${head('GET /long')}\r\n`.repeat(3)],
  ])('cuts off a client that %s', async (_what, bytes) => {
    const port = await listen();
    const client = await aClient(port, bytes);
    client.pause();
    const startedMs = performance.now();
    await app.close();
    expect(performance.now() - startedMs).toBeLessThan(8000);
  });

  it('answers a request that arrives on a keep-alive connection during the close, with Connection: close', async () => {
    const port = await listen();
    const client = await aClient(port, `${head('GET /healthz')}\r\n`);
    await once(client, 'data');
    const answer = readAll(client);
    const closed = app.close();
    client.write(`${head('GET /healthz')}\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*connection: close/i);
    await closed;
  });

  it('closes an idle keep-alive connection soon', async () => {
    const port = await listen();
    const accepted: Socket[] = [];
    app.server.on('connection', (socket) => accepted.push(socket));
    await aClient(port, '');
    await once(await aClient(port, `${head('GET /healthz')}\r\n`), 'data');
    const [silent = expect.fail(), idle = expect.fail()] = accepted;
    const closed = app.close();
    await once(idle, 'close');
    expect(silent.destroyed).toBe(false);
    await closed;
  });

  it('closes the connection after the response that was in flight, even if the client keeps it open', async () => {
    const port = await listen();
    const client = await aClient(port, `${head('GET /long')}\r\n`);
    client.pause();
    await once(client, 'readable');
    const closed = app.close();
    expect((await readAll(client)).length).toBeGreaterThan(LONG);
    await closed;
  });

  it('completes a request in progress, however long it takes', async () => {
    const port = await listen();
    const [client, silent] = [await aClient(port, `${head('GET /work')}\r\n`), await aClient(port, '')];
    await entered.opened;
    const closed = app.close();
    silent.resume();
    await once(silent, 'close');
    const answer = readAll(client);
    released.open();
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\{"done":true\}/);
    await closed;
  });

  it('lets a client finish reading a long response, up to the deadline', async () => {
    const port = await listen();
    const [reader, dripping] = [await aClient(port, `${head('GET /long')}\r\n`), await aClient(port, head('GET /'))];
    const drip = setInterval(() => dripping.write('x: y\r\n'), 100);
    try {
      const closed = app.close();
      expect((await readAll(reader)).length).toBeGreaterThan(LONG);
      dripping.resume();
      await closed;
    } finally {
      clearInterval(drip);
    }
  });
});
