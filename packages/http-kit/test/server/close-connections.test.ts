import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, type TestContext, vi } from 'vitest';
import { z } from 'zod';
import { sendJson } from '../../src/index.js';
import { aGate, aTestApp } from '../test-app.js';

const LONG = 20_000_000;

/** A server whose route `/work` answers once `released` is open, and its clients. */
async function listen({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const [entered, released, closing] = [aGate(), aGate(), aGate()];
  const sockets: Socket[] = [];
  const { app } = aTestApp({}, (routes) => {
    routes.addHook('preClose', async () => closing.open());
    routes.get('/work', async () => {
      entered.open();
      await released.opened;
      return { done: true };
    });
    routes.get('/long', async () => 'a'.repeat(LONG));
    routes.get('/parts', (_request, reply) =>
      sendJson(
        reply,
        Array.from({ length: 100 }, () => ({ text: 'a'.repeat(LONG / 100) })),
      ),
    );
    routes.post('/', { schema: { body: z.object({ a: z.string() }) } }, async (request) => request.body);
  });
  onTestFinished(async () => {
    released.open();
    for (const socket of sockets) socket.destroy();
    await app.close();
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    app,
    entered,
    released,
    /** Opened when the timers of the close have started. */
    closing,
    /** A client that has sent these bytes and whose connection the server has accepted. */
    async aClient(bytes: string): Promise<Socket> {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      // A destroyed connection may be reported as a reset.
      socket.on('error', () => {});
      await Promise.all([once(app.server, 'connection'), once(socket, 'connect')]);
      if (bytes !== '') await new Promise((resolve) => socket.write(bytes, resolve));
      return socket;
    },
  };
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

// The tests mostly wait, each for a server of its own, so they run at the same time.
describe.concurrent('the close of an app', () => {
  it.for<[what: string, bytes: string]>([
    ['has sent no request', ''],
    ['sent half of its headers', head('GET /long')],
    ['sent half of its body', `${head('POST /')}content-type: application/json\r\ncontent-length: 99\r\n\r\n{"a`],
    ['does not read its answer', `${head('GET /long')}\r\n`],
    ['does not read its answers', `${head('GET /long')}\r\n`.repeat(3)],
  ])('cuts off a client that %s', async ([, bytes], context) => {
    const { app, aClient } = await listen(context);
    const client = await aClient(bytes);
    client.pause();
    const startedMs = performance.now();
    await app.close();
    expect(performance.now() - startedMs).toBeLessThan(8000);
  });

  it('answers a request that arrives on a keep-alive connection during the close, with Connection: close', async (context) => {
    const { app, aClient } = await listen(context);
    const client = await aClient(`${head('GET /healthz')}\r\n`);
    await once(client, 'data');
    const answer = readAll(client);
    const closed = app.close();
    client.write(`${head('GET /healthz')}\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*connection: close/i);
    await closed;
  });

  it('answers a request that arrives while the process is busy, for longer than an idle connection stays open', async (context) => {
    const { app, aClient, closing } = await listen(context);
    const client = await aClient(`${head('GET /healthz')}\r\n`);
    await once(client, 'data');
    const answer = readAll(client);
    const closed = app.close();
    await closing.opened;
    client.write(`${head('GET /healthz')}\r\n`);
    for (const startedMs = performance.now(); performance.now() - startedMs < 200; );
    await closed;
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*connection: close/i);
  });

  it('closes an idle keep-alive connection soon', async (context) => {
    const { app, aClient } = await listen(context);
    const accepted: Socket[] = [];
    app.server.on('connection', (socket) => accepted.push(socket));
    await aClient('');
    await once(await aClient(`${head('GET /healthz')}\r\n`), 'data');
    const [silent = expect.fail(), idle = expect.fail()] = accepted;
    const closed = app.close();
    await once(idle, 'close');
    expect(silent.destroyed).toBe(false);
    await closed;
  });

  it('closes the connection after the response that was in flight, even if the client keeps it open', async (context) => {
    const { app, aClient } = await listen(context);
    const client = await aClient(`${head('GET /long')}\r\n`);
    client.pause();
    await once(client, 'readable');
    const closed = app.close();
    expect((await readAll(client)).length).toBeGreaterThan(LONG);
    await closed;
  });
});

describe('slow clients of an app that closes', () => {
  /** Begins to close a server with these clients. Its timers are fake then, but those of connections are real: none gets inactive meanwhile. */
  async function closing(context: TestContext, requests: readonly string[]) {
    const server = await listen(context);
    const accepted: Socket[] = [];
    server.app.server.on('connection', (socket) => accepted.push(socket));
    const clients: Socket[] = [];
    for (const bytes of requests) clients.push(await server.aClient(bytes));
    return {
      ...server,
      clients,
      /** Which connections are open. */
      open: () => accepted.map((socket) => !socket.destroyed),
      async close() {
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
        context.onTestFinished(() => void vi.useRealTimers());
        const closed = server.app.close();
        await server.closing.opened;
        // Fastify limits how long its hooks may take, with a timer of ten seconds too.
        await new Promise((resolve) => setImmediate(resolve));
        return { closed };
      },
    };
  }
  const HALF = head('GET /');

  it('completes a request in progress, however long it takes', async (context) => {
    const { clients, open, close, entered, released } = await closing(context, [`${head('GET /work')}\r\n`, HALF]);
    const [client = expect.fail()] = clients;
    await entered.opened;
    const { closed } = await close();
    vi.advanceTimersByTime(60_000);
    expect(open()).toEqual([true, false]);
    const answer = readAll(client);
    released.open();
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\{"done":true\}/);
    await closed;
  });

  it('lets no client read a response that is produced while it is sent for longer than the deadline', async (context) => {
    const { clients, open, close } = await closing(context, [`${head('GET /parts')}\r\n`]);
    const [client = expect.fail()] = clients;
    await once(client, 'data');
    client.pause();
    const { closed } = await close();
    vi.advanceTimersByTime(9999);
    expect(open()).toEqual([true]);
    vi.advanceTimersByTime(1);
    expect(open()).toEqual([false]);
    await closed;
  });

  it('lets a client finish reading a long response, up to the deadline', async (context) => {
    const { clients, open, close } = await closing(context, [`${head('GET /long')}\r\n`, HALF]);
    const [reader = expect.fail()] = clients;
    await once(reader, 'readable');
    const { closed } = await close();
    vi.advanceTimersByTime(9999);
    expect(open()).toEqual([true, true]);
    expect((await readAll(reader)).length).toBeGreaterThan(LONG);
    vi.advanceTimersByTime(1);
    expect(open()).toEqual([false, false]);
    await closed;
  });
});
