import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type App, jsonItems, sendJson, sendJsonText } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

/** Twice what the buffers of a connection within a machine hold. */
const LARGE = 20_000_000;

let app: App;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** Sends a request for a large answer and reads the first bytes of it. @returns the server's end of the connection, and the client's */
async function readFirst(
  path: string,
  unreadAnswer: number,
  requests = 1,
): Promise<{ server: Socket; client: Socket }> {
  ({ app } = aTestApp({ timeoutsMs: { headers: 1000, request: 1000, checkInterval: 1000, unreadAnswer } }, (routes) => {
    routes.get('/whole', async () => ({ text: 'x'.repeat(LARGE) }));
    routes.get('/parts', async (_request, reply) => {
      const items = Array.from({ length: 100 }, () => ({ text: 'x'.repeat(LARGE / 100) }));
      return sendJson(reply, items);
    });
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const accepted = new Promise<Socket>((resolve) => app.server.once('connection', resolve));
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(client);
  client.on('error', () => undefined);
  const server = await accepted;
  // The timers of sockets stay real.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const begun = new Promise((resolve) => client.once('data', resolve));
  const request = (connection: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: ${connection}\r\n\r\n`;
  client.write(request('keep-alive').repeat(requests - 1) + request('close'));
  await begun;
  client.pause();
  return { server, client };
}

describe('a large answer', () => {
  it('whose client goes on reading, but too slowly, is cut off after the time it has and a second for each 250 kB', async () => {
    const { server } = await readFirst('/whole', 30_000);
    vi.advanceTimersByTime(30_000 + LARGE / 250 - 1);
    expect(server.destroyed).toBe(false);
    vi.advanceTimersByTime(10);
    expect(server.destroyed).toBe(true);
  });

  it('that is produced while it is sent is cut off by what was sent so far', async () => {
    const { server } = await readFirst('/parts', 30_000);
    // Until the buffers are full, and nothing more is written.
    for (let before = -1; before !== server.bytesWritten; ) {
      before = server.bytesWritten;
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    const ms = 30_000 + server.bytesWritten / 250;
    expect(server.bytesWritten).toBeLessThan(LARGE);
    vi.advanceTimersByTime(ms - 100);
    expect(server.destroyed).toBe(false);
    vi.advanceTimersByTime(200);
    expect(server.destroyed).toBe(true);
  });

  it('that is produced while it is sent is dropped together with the connection if its client does not read', async () => {
    const { server } = await readFirst('/parts', 50);
    await new Promise((resolve) => server.once('close', resolve));
  });

  it('that is produced while it is sent, and waits behind another on its connection, is dropped as well', async () => {
    const { server, client } = await readFirst('/parts', 1000, 2);
    let end = '';
    let hasSecondBegun = false;
    client.on('data', (chunk) => {
      // Not the whole text: looking through it for each chunk takes longer than the client may read nothing.
      end = end.slice(-20) + chunk;
      hasSecondBegun ||= end.includes('HTTP/1.1 200');
      if (hasSecondBegun) client.pause();
    });
    client.resume();
    await new Promise((resolve) => server.once('close', resolve));
    expect(hasSecondBegun).toBe(true);
  });

  it('that is produced while it is sent is not produced for a HEAD request', async () => {
    let groups = 0;
    ({ app } = aTestApp({}, (routes) => {
      routes.get('/groups', async (_request, reply) => {
        async function* read() {
          for (; groups < 1000; groups++) yield [JSON.stringify('x'.repeat(2_000_000))];
        }
        return sendJsonText(reply, await jsonItems(read()));
      });
    }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    expect((await fetch(`http://127.0.0.1:${port}/groups`, { method: 'HEAD' })).status).toBe(200);
    // Enough to produce all groups.
    for (let turn = 0; turn < 3000; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(groups).toBeLessThan(100);
  });

  it('that is produced while it is sent arrives, also after a pause', async () => {
    const { client } = await readFirst('/parts', 10_000);
    let text = '';
    client.on('data', (chunk) => {
      text += chunk;
    });
    setImmediate(() => client.resume());
    await new Promise((resolve) => client.once('close', resolve));
    expect(text.length).toBeGreaterThan(LARGE * 0.9);
    expect(text).toMatch(/\]\r\n0\r\n\r\n$/);
  });
});

it('the time limits of a connection are those that docs/limits.md names', () => {
  ({ app } = aTestApp());
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = app.server;
  const { connectionsCheckingInterval } = app.server as unknown as Record<string, unknown>;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout, connectionsCheckingInterval }).toEqual({
    ...{ headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5000 },
    ...{ keepAliveTimeout: 72_000, timeout: 30_000 },
  });
});
