import { request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { type App, allowLongBody } from '../../src/index.js';
import { aGate, aTestApp } from '../test-app.js';

let app: App;
let socket: Socket | undefined;
afterEach(async () => {
  socket?.destroy();
  await app.close();
});

/** An app whose other requests may take a second, with a route that receives slow bodies. */
async function listen(limits: Parameters<typeof allowLongBody>[1]) {
  const begun = aGate();
  const timeoutsMs = { headers: 1000, request: 1000, checkInterval: 20, unreadAnswer: 1000 };
  ({ app } = aTestApp({ timeoutsMs }, (routes) => {
    routes.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
    routes.post('/slow', async (request) => {
      const late = allowLongBody(request, limits);
      begun.open();
      const read = async () => {
        let bytes = 0;
        for await (const chunk of request.raw) bytes += (chunk as Buffer).length;
        return { bytes };
      };
      try {
        return await Promise.race([read(), late.passed]);
      } finally {
        late.end();
      }
    });
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { port: (app.server.address() as AddressInfo).port, begun: begun.opened };
}

const HEAD = 'POST /slow HTTP/1.1\r\nhost: a\r\ncontent-type: application/octet-stream\r\ncontent-length: 4\r\n\r\n';

it('a body that may take long is read to its end, and the connection serves the next request', async () => {
  const { port, begun } = await listen({ noDataMs: 10_000, totalMs: 10_000 });
  socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write(`${HEAD}ab`);
  await begun;
  // Another request of that age has been answered 400 by now.
  const other = connect(port, '127.0.0.1');
  other.write(`${HEAD.replace('/slow', '/other')}ab`);
  await new Promise((resolve) => other.once('close', resolve).resume());
  expect(text).toBe('');
  socket.write('cd');
  await expect.poll(() => text).toContain('{"bytes":4}');
  socket.write(`${HEAD}abcd`);
  await expect.poll(() => text.split('{"bytes":4}').length).toBe(3);
});

it.each([
  ['pauses too long', { noDataMs: 100, totalMs: 10_000 }],
  ['takes too long', { noDataMs: 10_000, totalMs: 100 }],
])('a body that %s is answered 400', async (_what, limits) => {
  const { port } = await listen(limits);
  const answer = await new Promise<string>((resolve, reject) => {
    const headers = { 'content-type': 'application/octet-stream', 'content-length': 4 };
    const outgoing = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/slow', headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve(`${response.statusCode} ${body}`));
    });
    outgoing.on('error', reject);
    outgoing.write('ab');
  });
  expect(answer).toMatch(/^400 .*The request took too long to arrive/);
});

it('a body with many pauses, each shorter than the longest that is allowed, is not late; a longer pause is', async () => {
  await listen({ noDataMs: 1000, totalMs: 1000 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const arriving = { bytesRead: 0, destroy: () => undefined };
  const { passed, end } = allowLongBody({ raw: { socket: arriving, complete: true } } as never, {
    noDataMs: 1000,
    totalMs: 60_000,
  });
  let isLate = false;
  passed.catch(() => {
    isLate = true;
  });
  for (let piece = 0; piece < 10; piece++) {
    arriving.bytesRead += 1;
    await vi.advanceTimersByTimeAsync(700);
  }
  expect(isLate).toBe(false);
  await vi.advanceTimersByTimeAsync(1250);
  expect(isLate).toBe(true);
  end();
});
