import { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { type App, authPlugin, createApp, createLogger, createUnsentAnswers } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import { leastOf, startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { analyticsRoutes } from '../src/analytics/analytics-routes.js';
import { eventRoutes } from '../src/events/event-routes.js';
import { partnerAnalyticsRoutes } from '../src/partner-analytics/partner-analytics-routes.js';
import { createPlannerCache } from '../src/planner-cache.js';
import { createReadRunners } from '../src/workspace-concurrency.js';
import { aWorkspace, DOC_BASE, startQuery, type TestQuery, type TestWorkspace } from './test-query.js';

// The events route next to test routes with slow queries: all share the same concurrency limits.

/** Takes two seconds without using CPU. */
const SLOW = 'SELECT sum(sleepEachRow(0.2)) FROM numbers(10) SETTINGS max_block_size = 1';
const ENDLESS = 'SELECT sum(cityHash64(number)) FROM numbers(10000000000000)';

let query: TestQuery;
let app: App;
let heavy: TestWorkspace;
let light: TestWorkspace;
let stop: () => Promise<void>;
let slowEnded = 0;
const unsentAnswers = createUnsentAnswers({ bytesMax: 1000, bytesPerWorkspaceMax: 500, bytesAlwaysAllowed: 0 });

beforeAll(async () => {
  query = await startQuery();
  const redis = await startRedis();
  const client = new Redis(redis.url);
  const rateLimiter = createRateLimiter(client, { instanceKey: Buffer.alloc(32) });
  const clickhouse = query.database.client;
  const now = Date.now;
  const { runReads } = createReadRunners({ clickhouse, planCache: createPlannerCache(now, () => true) });
  app = createApp({
    logger: createLogger({ name: 'test', level: 'silent' }),
    docBase: DOC_BASE,
    trustedProxies: ['127.0.0.1'],
  });
  app.register(authPlugin, { catalog: query.catalog, rateLimiter });
  app.register(async (routes) => {
    const deps = { catalog: query.catalog, runReads, now, unsentAnswers };
    await eventRoutes(routes as App, deps);
    await analyticsRoutes(routes as App, deps);
    await partnerAnalyticsRoutes(routes as App, deps);
    for (const [path, sql] of [
      ['/slow', SLOW],
      ['/endless', ENDLESS],
      ['/comment', "SELECT getSetting('log_comment')"],
    ] as const) {
      const settings = { max_execution_time: 60, log_comment: 'test' };
      const onRequest = (routes as App).authenticate({ permission: 'analytics.read', bucket: 'analytics' });
      routes.get(path, { onRequest }, async (request, reply) => {
        const rows = await runReads(request, reply, (reads) => reads.run({ sql, params: {}, settings }));
        if (path === '/slow') slowEnded += 1;
        return rows;
      });
    }
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  [heavy, light] = [await aWorkspace(query), await aWorkspace(query)];
  stop = async () => {
    await app.close();
    await rateLimiter.close();
    client.disconnect();
    await Promise.all([redis.stop(), query.close()]);
  };
});
afterAll(() => stop());

const ask = (url: string, { token }: TestWorkspace, headers = {}) =>
  app.inject({ method: 'GET', url, headers: { authorization: `Bearer ${token}`, ...headers } });

async function runningEndless(): Promise<number> {
  const result = await query.database.client.query({
    query:
      "SELECT count() FROM system.processes WHERE query LIKE '%numbers(10000000000000)%' AND query NOT LIKE '%processes%'",
    format: 'JSONCompactEachRow',
  });
  const [row] = await result.json<[string]>();
  return Number(row?.[0]);
}

test('two hundred slow reads of one workspace do not delay pages of another', async () => {
  const answers = Array.from({ length: 200 }, () => ask('/slow', heavy));
  await waitFor(() => slowEnded > 0, { what: 'heavy reads to be under way' });
  const endedDuringPage = await leastOf(4, async () => {
    const before = slowEnded;
    expect((await ask('/events', light)).statusCode).toBe(200);
    return slowEnded - before;
  });
  // Four slow reads run at a time; the page waited for less than one round of them.
  expect(endedDuringPage).toBeLessThanOrEqual(4);
  const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
  expect([...new Set(statuses)].sort()).toEqual([200, 429]);
  const [refused] = (await Promise.all(answers)).filter(({ statusCode }) => statusCode === 429);
  expect(refused?.headers['retry-after']).toBe('1');
  expect(refused?.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
});

test('queries of clients that disconnect are cancelled in the engine, and release their slots', async () => {
  const { port } = app.server.address() as AddressInfo;
  const callers = Array.from({ length: 12 }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /endless HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${heavy.token}\r\n\r\n`);
    return socket;
  });
  await waitFor(async () => (await runningEndless()) === 4, { what: 'four of them to run' });
  for (const socket of callers) socket.destroy();
  // Before the time limit of the client would end them.
  await waitFor(async () => (await runningEndless()) === 0, { what: 'the engine to end them', timeoutMs: 20_000 });
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask('/events', heavy)));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(12).fill(200));
});

test('the query log of ClickHouse has the endpoint and the request', async () => {
  const answer = await ask('/comment', light, { 'x-request-id': 'req-42' });
  expect(answer.json()).toEqual([[`GET /comment workspace ${light.id} request req-42 reads test`]]);
});

test('while clients have not read large pages of a workspace, its further pages are refused, and those of others are not', async () => {
  const status = async (workspace: TestWorkspace) => (await ask('/events', workspace)).statusCode;
  const raw = Object.assign(new EventEmitter(), { closed: false });
  const slow = { raw, request: { raw: { socket: Object.assign(new EventEmitter(), { destroyed: false }) } } } as never;
  unsentAnswers.reserve(heavy.id, slow, 500);
  expect([await status(heavy), await status(light)]).toEqual([429, 200]);
  raw.emit('close');
  expect(await status(heavy)).toBe(200);
});

test.each(['/analytics?event=clicks&groupBy=count', '/partners/analytics?tenantId=one'])(
  '%s is refused while large answers of the workspace have not been read',
  async (url) => {
    const workspace = await aWorkspace(query);
    const programId = (await query.catalog.workspaces.get(workspace.id))?.defaultProgramId ?? null;
    await query.catalog.partners.create(workspace.id, { name: 'One', tenantId: 'one', programId });
    const raw = Object.assign(new EventEmitter(), { closed: false });
    const slow = {
      raw,
      request: { raw: { socket: Object.assign(new EventEmitter(), { destroyed: false }) } },
    } as never;
    unsentAnswers.reserve(workspace.id, slow, 500);
    const refused = (await ask(url, workspace)).statusCode;
    raw.emit('close');
    expect([refused, (await ask(url, workspace)).statusCode]).toEqual([429, 200]);
  },
);

test('groups of analytics count until their answer is sent', async () => {
  const workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'a' });
  const timestampMs = Date.now() - 60_000;
  await workspace.store({
    clicks: [workspace.click(link, 0, { timestampMs, url: `https://acme.com/?${'x'.repeat(150)}` })],
  });
  const reserve = vi.spyOn(unsentAnswers, 'reserve');
  expect((await ask('/analytics?event=clicks&groupBy=top_urls', workspace)).statusCode).toBe(200);
  expect(reserve).toHaveBeenCalledWith(
    workspace.id,
    expect.anything(),
    2 * `https://acme.com/?${'x'.repeat(150)}`.length,
  );
  reserve.mockRestore();
});

test('a client that takes its answer slowly does not slow exports', async () => {
  const planCache = createPlannerCache(Date.now, () => true);
  const { runReads, isQuiet } = createReadRunners({ clickhouse: query.database.client, planCache });
  const raw = Object.assign(new EventEmitter(), { closed: false });
  const slow = { raw, request: { raw: { socket: Object.assign(new EventEmitter(), { destroyed: false }) } } } as never;
  const request = { method: 'GET', routeOptions: {}, id: 'req', workspace: { id: light.id } } as never;
  await runReads(request, slow, async () => undefined);
  expect(isQuiet()).toBe(false);
  await waitFor(isQuiet, { what: 'exports to go on' });
});

test('of two pages of a workspace at once that together take too much memory, one is refused', async () => {
  const busy = await aWorkspace(query);
  const link = await busy.aLink({ key: 'a' });
  const timestampMs = Date.now() - 60_000;
  // Two such pages take more than the answers of a workspace may take.
  await busy.store({ clicks: [busy.click(link, 0, { timestampMs, url: `https://acme.com/?${'x'.repeat(150)}` })] });
  let begun = 0;
  const { rows } = query.database.client;
  const spy = vi.spyOn(query.database.client, 'rows').mockImplementation(async (statement) => {
    if (statement.query.includes('payload')) {
      begun += 1;
      // Both have begun before the size of either is known.
      await waitFor(() => begun >= 2, { what: 'both pages to be read' });
    }
    return rows(statement);
  });
  onTestFinished(() => spy.mockRestore());
  const answers = await Promise.all([ask('/events', busy), ask('/events', busy)]);
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 429]);
  expect(answers.find(({ statusCode }) => statusCode === 429)?.headers['retry-after']).toBe('1');
  expect((await ask('/events', busy)).statusCode).toBe(200);
});
