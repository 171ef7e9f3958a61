import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import type { App } from '../../src/index.js';
import { aGate, aTestApp } from '../test-app.js';

let app: App;
afterEach(() => app.close());

it('healthz answers as long as the process does', async () => {
  ({ app } = aTestApp({ readiness: { redis: () => Promise.reject(new Error('away')) } }));
  const response = await app.inject('/healthz');
  expect([response.statusCode, response.json()]).toEqual([200, { status: 'ok' }]);
});

it('readyz names the check that fails; the reason is only in the log', async () => {
  const started = aTestApp({
    readiness: { redis: () => Promise.reject(new Error('hunter2')), clickhouse: async () => 'pong' },
  });
  app = started.app;
  const response = await app.inject('/readyz');
  expect(response.statusCode).toBe(503);
  expect(response.json()).toEqual({ status: 'not ready', checks: { redis: 'failed', clickhouse: 'ok' } });
  expect(started.lines()).toContain('hunter2');
});

/** Runs `work` with a clock that `advance` moves. */
async function withClock(work: (advance: (ms: number) => void) => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    await work((ms) => vi.advanceTimersByTime(ms));
  } finally {
    vi.useRealTimers();
  }
}

it('readyz becomes ready again when its stores recover', () =>
  withClock(async (advance) => {
    let isThere = false;
    ({ app } = aTestApp({ readiness: { redis: () => (isThere ? Promise.resolve() : Promise.reject(new Error())) } }));
    expect((await app.inject('/readyz')).statusCode).toBe(503);
    isThere = true;
    advance(1000);
    expect((await app.inject('/readyz')).json()).toEqual({ status: 'ready', checks: { redis: 'ok' } });
  }));

it('a result counts for a second, so that no client can keep the stores busy or fill the log', () =>
  withClock(async (advance) => {
    let runs = 0;
    const started = aTestApp({
      readiness: {
        redis: () => {
          runs += 1;
          return Promise.reject(new Error('away'));
        },
      },
    });
    app = started.app;
    const probe = async () => (await app.inject('/readyz')).statusCode;
    const linesOf = () => started.lines().split('not ready').length - 1;
    for (let count = 0; count < 20; count++) expect(await probe()).toBe(503);
    expect([runs, linesOf()]).toEqual([1, 1]);
    advance(999);
    await probe();
    expect(runs).toBe(1);
    advance(1);
    await probe();
    expect([runs, linesOf()]).toEqual([2, 2]);
  }));

it('a check that hangs fails after the time-out', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    ({ app } = aTestApp({ readiness: { clickhouse: () => new Promise(() => {}) } }));
    await app.ready();
    const answer = app.inject('/readyz');
    // Timers start once the request has reached the check.
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(2000);
    expect((await answer).json()).toEqual({ status: 'not ready', checks: { clickhouse: 'failed' } });
  } finally {
    vi.useRealTimers();
  }
});

it('concurrent probes share one run of the checks', async () => {
  let runs = 0;
  ({ app } = aTestApp({
    readiness: {
      redis: async () => {
        runs += 1;
        await new Promise((resolve) => setImmediate(resolve));
      },
    },
  }));
  await app.ready();
  await Promise.all(Array.from({ length: 20 }, () => app.inject('/readyz')));
  expect(runs).toBe(1);
});

/** What a connection receives that has a request in progress when shutdown starts, and then sends a request for `path`. */
async function answersDuringShutdown(path: string): Promise<string> {
  const [slowEntered, nextEntered, closing, released] = [aGate(), aGate(), aGate(), aGate()];
  ({ app } = aTestApp({}, (routes) => {
    routes.get('/slow', async () => {
      slowEntered.open();
      await released.opened;
      return { slow: true };
    });
    routes.get('/quick', async () => ({ quick: true }));
  }));
  app.addHook('onRequest', async ({ url }) => {
    if (url === path) nextEntered.open();
  });
  app.addHook('preClose', async () => closing.open());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.write('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
  await slowEntered.opened;
  const closed = app.close();
  await closing.opened;
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
  await nextEntered.opened;
  released.open();
  await Promise.all([ended, closed]);
  return text;
}

it('during shutdown it is not ready, and requests in progress are completed', async () => {
  expect(await answersDuringShutdown('/readyz')).toMatch(
    /200 OK[\s\S]*\{"slow":true\}HTTP\/1\.1 503 Service Unavailable[\s\S]*\{"status":"stopping"\}$/,
  );
});

it('a request on an open connection during shutdown is answered, not rejected with 503', async () => {
  expect(await answersDuringShutdown('/quick')).toMatch(
    /200 OK[\s\S]*\{"slow":true\}HTTP\/1\.1 200 OK[\s\S]*\{"quick":true\}$/,
  );
});

it('on the port of short links the probe paths are not registered', async () => {
  ({ app } = aTestApp({ systemRoutes: false }, (routes) => {
    routes.get('/:key', async (request) => ({ key: (request.params as { key: string }).key }));
  }));
  for (const path of ['healthz', 'readyz', 'openapi.json']) {
    expect((await app.inject(`/${path}`)).json()).toEqual({ key: path });
  }
});
