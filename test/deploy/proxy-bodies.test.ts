import { once } from 'node:events';
import { rmSync, statSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ApiError } from '@waymark/contract';
import { type App, createApp, createLogger } from '@waymark/http-kit';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasProgram, type RunningProxy, type ServersBehind, startCaddy, startNginx } from './lib/proxies.js';

/** Long bodies through the proxies of the reference deployments, in front of servers with the limits of the services. */

const MB = 1024 ** 2;
const SENT_BYTES = 15 * MB;
/** More than the buffers of all sockets in between. */
const LONG_BYTES = 64 * MB;
/** Time limits of a server that waits for a body no longer than the tests do, in milliseconds. */
const HASTY = { headers: 500, request: 500, checkInterval: 50, unreadAnswer: 30_000 };

let directory: string;
let behind: ServersBehind;
const apps: App[] = [];
/** The connection on which the last request has reached a server, and the bytes that it had carried before. */
let reached: { readonly socket: Socket; readonly bytesBefore: number } | undefined;

async function listen(timeoutsMs?: typeof HASTY): Promise<number> {
  const app = createApp({
    logger: createLogger({ name: 'test', level: 'silent' }),
    docBase: 'https://docs.example.com',
    trustedProxies: ['127.0.0.0/8'],
    ...(timeoutsMs !== undefined && { timeoutsMs }),
  });
  apps.push(app);
  const refuse = async () => {
    throw new ApiError('unauthorized', 'The API key is missing.');
  };
  app.addHook('onRequest', async ({ raw }) => {
    const { socket } = raw;
    reached = { socket, bytesBefore: socket.bytesWritten };
  });
  app.register(async (routes) => {
    routes.post('/locked', { onRequest: refuse }, async () => ({}));
    routes.post('/open', async ({ body }) => ({ length: JSON.stringify(body).length }));
    routes.get('/long', async (_request, reply) => {
      const zeros = Array.from({ length: LONG_BYTES / MB }, () => Buffer.alloc(MB));
      return reply.send(Readable.from(zeros, { objectMode: false }));
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

beforeAll(async () => {
  directory = temporaryDirectory('waymark-bodies-');
  behind = { api: await listen(), links: await listen(HASTY) };
});
afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()));
  rmSync(directory, { recursive: true, force: true });
});

/** Where nginx writes bodies of requests and of answers. */
const NGINX_FOLDERS = ['client_body', 'proxy'];
const changedAt = (folder: string) => statSync(join(directory, folder), { bigint: true }).mtimeNs;

/** Begins a request. The test sends its body, and the connection is closed after the test. */
function post(port: number, path: string, length: number | undefined): ClientRequest {
  const framing = length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length };
  const headers = { 'content-type': 'application/json', ...framing };
  const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers });
  // Proxies close a connection whose request they have answered before its end.
  sent.on('error', () => undefined);
  onTestFinished(() => void sent.destroy());
  return sent;
}

async function answerTo(sent: ClientRequest): Promise<{ status: number | undefined; message: string }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { error } = JSON.parse(await text(response)) as { error: { message: string } };
  return { status: response.statusCode, message: error.message };
}

/** The tests of both proxies. @param written the folders in which the proxy has written bodies */
function testProxy(proxy: () => RunningProxy, written: () => string[]): void {
  it.each([
    ['with its length', 900_012],
    ['in chunks', undefined],
  ])('a body %s that arrives in pieces is complete', async (_how, length) => {
    const sent = post(proxy().ports.api, '/open', length);
    sent.write('{"a":"');
    sent.write('x'.repeat(900_004));
    sent.end('"}');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect([response.statusCode, await text(response), written()]).toEqual([200, '{"length":900012}', []]);
  });

  it('a long answer is read from the service as its client reads it', async () => {
    reached = undefined;
    const client = connect(proxy().ports.api, '127.0.0.1').pause();
    onTestFinished(() => void client.destroy());
    client.write(`GET /long HTTP/1.1\r\nHost: 127.0.0.1:${proxy().ports.api}\r\nConnection: close\r\n\r\n`);
    let sent = 0;
    await waitFor(
      () => {
        const before = sent;
        sent = reached === undefined ? 0 : reached.socket.bytesWritten - reached.bytesBefore;
        return sent > MB && sent === before;
      },
      { what: 'the buffers of all sockets to be full' },
    );
    expect([sent < LONG_BYTES, written()]).toEqual([true, []]);
    let bytes = 0;
    client.on('data', (chunk) => {
      bytes += chunk.length;
    });
    client.resume();
    await once(client, 'close');
    expect(bytes).toBeGreaterThan(LONG_BYTES);
  });
}

describe.skipIf(!hasProgram('nginx', '-v'))('nginx of docker-compose.yml', () => {
  let proxy: RunningProxy;
  let unchanged: bigint[];
  /** nginx removes the names of its files at once, so only the times of their folders show them. */
  const written = () => NGINX_FOLDERS.filter((folder, index) => changedAt(folder) !== unchanged[index]);
  beforeAll(async () => {
    proxy = await startNginx(directory, behind);
    unchanged = NGINX_FOLDERS.map(changedAt);
  });
  afterAll(() => proxy.stop());

  testProxy(() => proxy, written);

  // Caddy may wait for up to the last 256 kB of a body before it passes an answer on, so this is tested with nginx only.
  describe.each([
    ['with its length', SENT_BYTES],
    ['in chunks', undefined],
  ])('a body of 15 MB %s', (_how, length) => {
    it.each([
      ['without a key', 'api', '/locked', 401, 'The API key is missing.'],
      ['without a key', 'links', '/locked', 401, 'The API key is missing.'],
      ['that is too large', 'api', '/open', 400, 'The request body is too large.'],
    ] as const)('%s at the port of %s is answered before its last byte', async (_what, port, path, status, message) => {
      const sent = post(proxy.ports[port], path, length);
      sent.write(Buffer.alloc(SENT_BYTES - 1, 'x'));
      expect([await answerTo(sent), written()]).toEqual([{ status, message }, []]);
    });
  });

  it('a body that stops is answered by the service, when its time is over', async () => {
    const sent = post(proxy.ports.links, '/open', 20);
    sent.write('{"a":');
    expect(await answerTo(sent)).toEqual({ status: 400, message: 'The request took too long to arrive.' });
  });
});

describe.skipIf(!hasProgram('caddy', 'version'))('Caddy of docs/production.md', () => {
  let proxy: RunningProxy;
  beforeAll(async () => {
    proxy = await startCaddy(directory, behind);
  });
  afterAll(() => proxy.stop());

  testProxy(
    () => proxy,
    () => [],
  );
});
