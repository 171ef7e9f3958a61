import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { type App, authPlugin, createApp, createLogger } from '@waymark/http-kit';
import {
  anApiKeyRecord,
  aWorkspaceRecord,
  elapsedMs,
  leastOf,
  startMigratedClickHouse,
  startRedis,
  type TestClickHouse,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metricsRoute, type Operations, requestCountPlugin, startOperations } from '../src/index.js';
import { type MetricLine, parseMetrics } from './metrics-text.js';
import { aBatch } from './write-report.js';

const ADMIN_KEY = 'a'.repeat(32);
const KEY = `dub_${'1'.repeat(24)}`;
const WORKSPACE = aWorkspaceRecord({ plan: 'pro' });

let redisServer: TestRedis;
let clickhouseServer: TestClickHouse;
let redis: Redis;
let clickhouse: ClickHouseClient;
let operations: Operations;
let app: App;
let url: string;
let isOverLimit = false;
const logs: string[] = [];

beforeAll(async () => {
  [redisServer, clickhouseServer] = await Promise.all([
    startRedis({ args: ['--maxmemory', '64mb'] }),
    startMigratedClickHouse(),
  ]);
  redis = new Redis(redisServer.url, { enableOfflineQueue: false, commandTimeout: 2000 });
  redis.on('error', () => {});
  clickhouse = createClickHouseClient({ url: clickhouseServer.url, database: 'waymark' });
  const destination = new Writable({
    write(line, _encoding, done) {
      logs.push(String(line));
      done();
    },
  });
  const logger = createLogger({ name: 'test', level: 'warn', destination });
  operations = startOperations({
    service: 'http',
    isWriter: true,
    redis,
    clickhouse,
    spoolDirectory: redisServer.dataDir,
    catalogLookups: () => ({ links: { memory: 9, redis: 2, clickhouse: 1 } }),
    logger,
    spoolBytesMax: 2 ** 60,
    waitReplicas: 1,
    intervalMs: { components: 50, queue: 50, stores: 50, opsLog: 3_600_000 },
  });
  const window = { limit: 1, remaining: 0, resetEpochSeconds: 0, retryAfterSeconds: 1 };
  const limit = async () => ({ ...window, allowed: !isOverLimit });
  const rateLimiter = { take: limit, peek: limit, giveBack: async () => {}, close: async () => {} };
  app = createApp({ logger, docBase: 'https://docs.example.com', trustedProxies: ['127.0.0.1'] });
  app.register(requestCountPlugin, { operations });
  app.register(metricsRoute, { operations, adminKeys: [ADMIN_KEY], rateLimiter });
  const key = anApiKeyRecord();
  app.register(authPlugin, {
    catalog: { keys: { authenticate: async (given) => (given === KEY ? { key, workspace: WORKSPACE } : undefined) } },
    rateLimiter,
  });
  app.register(async (routes) => {
    const onRequest = (routes as App).authenticate({});
    routes.get('/links/:linkId', { onRequest }, async () => ({ ok: true }));
    routes.get('/stream', { onRequest }, async (request) => {
      request.streamBeganMs = 7_000;
      return { ok: true };
    });
    routes.get('/upload', { onRequest }, async (request) => {
      Object.assign(request, { streamBeganMs: 7_000, uploadMs: () => 4_000 });
      return { ok: true };
    });
    routes.get('/broken', { onRequest }, async () => {
      throw new Error('broken');
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await app.close();
  await operations.close();
  redis.disconnect();
  await clickhouse.close();
  await Promise.all([redisServer.stop(), clickhouseServer.stop()]);
});

const get = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${KEY}` } });

const scrape = () => fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });

async function metrics(): Promise<MetricLine[]> {
  const response = await scrape();
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return parseMetrics(await response.text());
}

/** The values of a metric, by the labels named. */
async function values(name: string, ...labels: readonly string[]): Promise<Record<string, number>> {
  const lines = (await metrics()).filter((line) => line.name === name);
  return Object.fromEntries(lines.map((line) => [labels.map((label) => line.labels[label]).join(' '), line.value]));
}

async function rows<Row>(query: string): Promise<Row[]> {
  return (await clickhouse.query({ query, format: 'JSONEachRow' })).json<Row>();
}

it('a disk with less room than the spool may take is a warning at the start, with what happens when it is full', async () => {
  const line = await waitFor(() => logs.find((text) => text.includes('SPOOL_MAX_MB')), { what: 'the warning' });
  expect(line).toMatch(/SPOOL_MAX_MB: \S+ has \d+ MB free of the 1099511627776 MB that it may need/);
  expect(line).toContain('clicks are lost while Redis is away');
});

describe('/metrics', () => {
  it('has what the alerts on disks, parts and replicas look at', async () => {
    const read = async () => {
      const parts = await values('waymark_clickhouse_parts', 'table');
      return Object.keys(parts).length > 0 ? parts : undefined;
    };
    const parts = await waitFor(read, { what: 'the parts of tables' });
    expect(parts.schema_migrations).toBeGreaterThan(0);
    const [free, total] = [
      await values('waymark_disk_free_bytes', 'disk'),
      await values('waymark_disk_total_bytes', 'disk'),
    ];
    for (const disk of ['spool', 'clickhouse:default']) {
      expect(free[disk]).toBeGreaterThan(0);
      expect(total[disk]).toBeGreaterThan(free[disk] ?? 0);
    }
    const single = async (name: string) => (await values(name))[''];
    expect(await single('waymark_spool_limit_bytes')).toBe(2 ** 60);
    expect([await single('waymark_redis_replicas'), await single('waymark_redis_replicas_wanted')]).toEqual([0, 1]);
    expect(await single('waymark_redis_log_written')).toBe(1);
    expect(await single('waymark_clickhouse_readonly_tables')).toBe(0);
    expect(await single('waymark_clickhouse_inactive_replicas')).toBe(0);
    expect(await single('waymark_clickhouse_replica_delay_seconds')).toBe(0);
  });

  it('counts requests by the pattern of their route and by status, never by their path', async () => {
    for (const path of ['/links/secret-1', '/links/secret-2', '/broken', '/nowhere/secret-3?key=secret-4']) {
      await get(path);
    }
    await fetch(`${url}/links/secret-5`);
    const text = await (await scrape()).text();
    expect(text).not.toContain('secret');
    const counts = await values('waymark_http_request_duration_seconds_count', 'method', 'route', 'status');
    expect(counts).toMatchObject({
      'GET /links/:linkId 200': 2,
      'GET /links/:linkId 401': 1,
      'GET /broken 500': 1,
      'GET unknown 404': 1,
    });
  });

  it('takes for the time of a stream how long it took to begin, not how long it lasted', async () => {
    await get('/stream');
    expect(await values('waymark_http_request_duration_seconds_sum', 'method', 'route')).toMatchObject({
      'GET /stream': 7,
    });
  });

  it('takes for the time of an upload how long it took without the time in which the file arrived', async () => {
    await get('/upload');
    expect((await values('waymark_http_request_duration_seconds_sum', 'method', 'route'))['GET /upload']).toBe(3);
  });

  it('gives the times of requests as a histogram that adds up', async () => {
    const lines = (await metrics()).filter(
      ({ labels }) => labels.route === '/links/:linkId' && labels.status === '200',
    );
    const buckets = lines.filter(({ name }) => name.endsWith('_bucket'));
    expect(buckets.map(({ labels }) => labels.le)).toContain('0.25');
    expect(buckets.at(-1)).toMatchObject({ labels: { le: '+Inf' }, value: 2 });
    expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).sort((a, b) => a - b));
    const sum = lines.find(({ name }) => name.endsWith('_sum'))?.value ?? 0;
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan(10);
  });

  it('counts what was over a rate limit by plan', async () => {
    isOverLimit = true;
    expect((await get('/links/a')).status).toBe(429);
    isOverLimit = false;
    expect(await values('waymark_limited_requests_total', 'plan')).toEqual({ pro: 1 });
  });

  it('has metrics of the queue, the stores and the process', async () => {
    let lines: MetricLine[] = [];
    const valueFor = (name: string, labels: Record<string, string> = {}) =>
      lines.find(
        (line) => line.name === name && Object.entries(labels).every(([key, value]) => line.labels[key] === value),
      )?.value;
    // Each of these values comes from a poll of its own.
    const hasAll = async () => {
      lines = await metrics();
      return (
        valueFor('waymark_redis_memory_limit_bytes') !== undefined &&
        valueFor('waymark_component_up', { component: 'clickhouse' }) === 1 &&
        valueFor('waymark_component_starts_total', { component: 'http' }) !== undefined &&
        valueFor('waymark_queue_jobs', { kind: 'click', state: 'waiting' }) !== undefined &&
        // Left out of a scrape within a second of the one before.
        valueFor('nodejs_eventloop_lag_p99_seconds') !== undefined
      );
    };
    await waitFor(hasAll, { what: 'the first polls of stores, services and the queue' });
    expect(valueFor('waymark_redis_memory_limit_bytes')).toBe(64 * 1024 * 1024);
    expect(valueFor('waymark_redis_memory_used_bytes')).toBeGreaterThan(100_000);
    expect(valueFor('waymark_queue_jobs', { kind: 'click', state: 'waiting' })).toBe(0);
    expect(valueFor('waymark_queue_oldest_job_age_seconds', { kind: 'sale' })).toBe(0);
    expect(valueFor('waymark_dead_letters')).toBe(0);
    expect(valueFor('waymark_spool_files')).toBeGreaterThanOrEqual(0);
    expect(valueFor('waymark_spool_waiting_files')).toBeGreaterThanOrEqual(0);
    expect(valueFor('waymark_catalog_lookups_total', { kind: 'links', from: 'memory' })).toBe(9);
    expect(valueFor('waymark_component_up', { component: 'clickhouse' })).toBe(1);
    expect(valueFor('waymark_component_processes', { component: 'http' })).toBe(1);
    expect(valueFor('waymark_component_starts_total', { component: 'http' })).toBe(1);
    expect(valueFor('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(valueFor('process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(valueFor('waymark_process_heap_limit_bytes')).toBe(getHeapStatistics().heap_size_limit);
    expect(lines.every(({ labels }) => labels.service === 'http')).toBe(true);
  });

  it('has metrics of the insert batches that a writer stored, and of deliveries to webhooks that it dropped', async () => {
    operations.countBatch(aBatch());
    operations.countBatch(aBatch({ outcome: 'retried', rows: 30_000, attempts: 3, insertMs: 900 }));
    const batches = await values('waymark_writer_batches_total', 'kind', 'outcome');
    expect(batches).toEqual({ 'click stored': 1, 'click retried': 1 });
    const buckets = await values('waymark_writer_batch_rows_bucket', 'le');
    expect(buckets).toMatchObject({ 100: 0, 500: 1, 20000: 1, '+Inf': 2 });
    expect(await values('waymark_writer_batch_rows_sum')).toEqual({ '': 30_250 });
    expect(await values('waymark_writer_insert_duration_seconds_sum', 'kind')).toEqual({ click: 0.93 });
    operations.countDroppedDeliveries('click', 100);
    const dropped = values('waymark_webhook_deliveries_dropped_total', 'kind');
    expect(await dropped).toEqual({ click: 100, lead: 0, sale: 0 });
  });

  it('has the age of the oldest open erasure, once a writer has looked for it', async () => {
    const age = () => values('waymark_oldest_erasure_age_seconds');
    expect(await age()).toEqual({});
    operations.noteOldestErasure(Date.now() - 90_000_000);
    expect((await age())['']).toBeGreaterThanOrEqual(90_000);
    operations.noteOldestErasure(undefined);
    expect(await age()).toEqual({ '': 0 });
  });

  it.each(['127.0.0.1', '203.0.113.9'])('is for those with the admin key, from %s', async (remoteAddress) => {
    const from = { remoteAddress, url: '/metrics' };
    expect((await app.inject(from)).statusCode).toBe(401);
    const authorization = `Bearer ${ADMIN_KEY}`;
    expect((await app.inject({ ...from, headers: { authorization } })).statusCode).toBe(200);
    expect((await app.inject({ ...from, headers: { authorization: `Bearer ${KEY}` } })).statusCode).toBe(401);
  });
});

describe('tables for operators', () => {
  it('get requests, batches, samples and slow or failed queries', async () => {
    const caller = { endpoint: 'GET /events', workspaceId: WORKSPACE.id, requestId: 'r' };
    const report = { readRows: 5, readBytes: 50, error: '' };
    operations.countQuery(caller, { ...report, durationMs: 999 });
    operations.countQuery(caller, { ...report, durationMs: 1500 });
    operations.countQuery(caller, { ...report, durationMs: 2, error: 'TIMEOUT_EXCEEDED' });
    await operations.opsLog.flush();
    expect(
      await rows(
        "SELECT route, plan, status, requests, limited FROM ops_requests WHERE route = 'GET /links/:linkId' ORDER BY status",
      ),
    ).toEqual([
      { route: 'GET /links/:linkId', plan: 'pro', status: 200, requests: 2, limited: 0 },
      { route: 'GET /links/:linkId', plan: '', status: 401, requests: 1, limited: 0 },
      { route: 'GET /links/:linkId', plan: 'pro', status: 429, requests: 1, limited: 1 },
    ]);
    expect(
      await rows('SELECT kind, outcome, rows, attempts, lag_ms_min, lag_ms_max FROM ops_batches ORDER BY rows'),
    ).toEqual([
      { kind: 'click', outcome: 'stored', rows: 250, attempts: 1, lag_ms_min: '20', lag_ms_max: '400' },
      { kind: 'click', outcome: 'retried', rows: 30_000, attempts: 3, lag_ms_min: '20', lag_ms_max: '400' },
    ]);
    expect(
      await rows('SELECT workspace_id, kind, sum(events) AS events FROM ops_workspace_minutes GROUP BY ALL'),
    ).toEqual([{ workspace_id: '11', kind: 'click', events: '500' }]);
    expect(
      await rows('SELECT endpoint, duration_ms, read_rows, error FROM ops_slow_queries ORDER BY duration_ms'),
    ).toEqual([
      { endpoint: 'GET /events', duration_ms: 2, read_rows: '5', error: 'TIMEOUT_EXCEEDED' },
      { endpoint: 'GET /events', duration_ms: 1500, read_rows: '5', error: '' },
    ]);
    const [samples] = await rows<{ names: string[] }>(
      "SELECT arraySort(groupUniqArray(metric)) AS names FROM ops_samples WHERE service = 'http'",
    );
    expect(samples?.names).toEqual(
      expect.arrayContaining([
        'dead_letters',
        'event_loop_p99_ms',
        'queue_waiting:click',
        'redis_used_bytes',
        'rss_bytes',
      ]),
    );
  });

  it('get a request once, however often rows are written', async () => {
    const [before] = await rows<{ n: string }>(
      "SELECT sum(requests) AS n FROM ops_requests WHERE route = 'GET /broken'",
    );
    await operations.opsLog.flush();
    await get('/broken');
    await operations.opsLog.flush();
    const [after] = await rows<{ n: string }>(
      "SELECT sum(requests) AS n FROM ops_requests WHERE route = 'GET /broken'",
    );
    expect(Number(after?.n) - Number(before?.n)).toBe(1);
  });
});

describe('while ClickHouse is away', () => {
  it('a scrape shows it at once; rows of operator tables are buffered, block nothing, and arrive once when it is back', async () => {
    await rows('TRUNCATE TABLE ops_slow_queries');
    const caller = { endpoint: 'GET /events', workspaceId: WORKSPACE.id, requestId: 'r' };
    const slow = (durationMs: number) =>
      operations.countQuery(caller, { durationMs, readRows: 0, readBytes: 0, error: '' });
    await clickhouseServer.kill9();
    await waitFor(async () => (await values('waymark_component_up', 'component')).clickhouse === 0, {
      what: 'ClickHouse to be down',
    });
    let rowsGiven = 0;
    slow(3001);
    const heldUpMs = async () => {
      const flushing = operations.opsLog.flush();
      if (rowsGiven++ === 0) slow(3002);
      const ms = await elapsedMs(async () => {
        expect((await get('/links/a')).status).toBe(200);
        await metrics();
      });
      await flushing;
      return ms;
    };
    expect(await leastOf(1000, heldUpMs)).toBeLessThanOrEqual(1000);

    await clickhouseServer.restart();
    await waitFor(
      async () => {
        await operations.opsLog.flush();
        const [found] = await rows<{ n: string }>('SELECT count() AS n FROM ops_slow_queries');
        return found?.n === '2';
      },
      { what: 'both rows' },
    );
    await operations.opsLog.flush();
    expect(await rows('SELECT duration_ms FROM ops_slow_queries ORDER BY duration_ms')).toEqual([
      { duration_ms: 3001 },
      { duration_ms: 3002 },
    ]);
    expect(await values('waymark_operator_rows_dropped_total')).toEqual({ '': 0 });
  });
});

describe('while Redis is away', () => {
  it('a scrape shows it at once, and leaves out what only Redis has', async () => {
    await redisServer.kill9();
    const lines = await waitFor(
      async () => {
        const found = await metrics();
        const status = found.find((line) => line.name === 'waymark_component_up' && line.labels.component === 'redis');
        return status?.value === 0 && found;
      },
      { what: 'Redis to be down' },
    );
    const names = new Set(lines.map(({ name }) => name));
    await waitFor(async () => !(await metrics()).some(({ name }) => name === 'waymark_queue_jobs'), {
      what: 'the depth of the queue to be left out',
    });
    expect(names).not.toContain('waymark_redis_memory_used_bytes');
    await redisServer.restart();
    await waitFor(async () => (await values('waymark_component_up', 'component')).redis === 1, { what: 'Redis' });
  });
});
