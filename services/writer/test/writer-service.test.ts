import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import { createEventId, formatResourceId } from '@waymark/contract';
import { createEventProducer, createWebhookJobSender } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import {
  aClick,
  createTestDatabase,
  type ForkedService,
  forkService,
  freePort,
  startRedis,
  storeSettings,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

let redis: TestRedis;
let database: TestDatabase;
let started: ForkedService | undefined;
let port = 0;

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  port = await freePort();
});
afterEach(() => started?.kill9());
afterAll(async () => {
  await Promise.all([redis.stop(), database.drop()]);
});

function startWriterProcess(overrides: Record<string, string> = {}): ForkedService {
  started = forkService(new URL('../dist/main.js', import.meta.url), {
    ...{ ...storeSettings(redis, database), WRITER_PORT: String(port), SHUTDOWN_DEADLINE_MS: '5000' },
    ...overrides,
  });
  return started;
}

const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;

describe('the writer process', () => {
  it('answers health and readiness probes, and stops on SIGTERM', async () => {
    const { child: writer, ready } = startWriterProcess();
    await ready();
    expect(await statusOf('/healthz')).toBe(200);
    const readiness = await (await fetch(`http://127.0.0.1:${port}/readyz`)).json();
    expect(readiness).toEqual({ status: 'ready', checks: { queue: 'ok', progress: 'ok', clickhouse: 'ok' } });
    await redis.kill9();
    await waitFor(async () => (await statusOf('/readyz')) === 503, { what: 'the writer to be not ready' });
    expect(await statusOf('/healthz')).toBe(200);
    await redis.restart();
    await ready();
    writer.kill('SIGTERM');
    expect(await once(writer, 'exit')).toEqual([0, null]);
  });

  it('publishes which totals have changed to the other processes', async () => {
    const { child: writer } = startWriterProcess();
    const client = new Redis(redis.url);
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    // A catalog whose clock does not advance: its cached totals never expire, so only an invalidation evicts them.
    const catalog = createCatalog({
      ...{ redis: client, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: () => 0, logger },
      baseUrl: 'https://api.example.com',
    });
    const spoolDirectory = await mkdtemp(join(tmpdir(), 'waymark-writer-'));
    const producer = createEventProducer({ redisUrl: redis.url, spoolDirectory, logger, clickDeadlineMs: 10_000 });
    const [workspaceId, linkId] = [formatResourceId('workspace', '7'), formatResourceId('link', '11')];
    const known = async () => (await catalog.links.cachedCounters(workspaceId, [linkId])).get(linkId)?.clicks ?? 0;
    try {
      await waitFor(() => producer.ping().then(() => true), { what: 'the producer' });
      await waitFor(catalog.isSubscribed, { what: 'the catalog to subscribe' });
      for (const count of [1, 2, 3]) {
        expect(await known()).toBe(count - 1);
        const timestampMs = Date.now();
        const clickId = createEventId(timestampMs);
        const row = aClick({ workspaceId: '7', linkId: '11', timestampMs, clickId });
        await producer.recordClick({ claim: `test/${clickId}`, clickId, rowText: JSON.stringify(row) });
        await waitFor(async () => (await known()) === count, { what: `${count} clicks` });
      }
    } finally {
      await producer.close();
      await catalog.close();
      client.disconnect();
      await rm(spoolDirectory, { recursive: true, force: true });
      writer.kill('SIGTERM');
      await once(writer, 'exit');
    }
  });

  it('starts the delivery process at the first delivery, and from then on at every start', {
    // Four starts of a process, each with a limit of its own.
    timeout: 90_000,
  }, async () => {
    const { child: writer, ready } = startWriterProcess();
    const client = new Redis(redis.url);
    const registered = async () => (await client.hkeys('{waymark}:instances')).map((name) => name.split(':')[0]);
    try {
      await ready();
      expect(readFileSync(`/proc/${writer.pid}/task/${writer.pid}/children`, 'utf8')).toBe('');
      // A job that no version supports, so it stays in the queue.
      const data = JSON.stringify({ ofNoVersion: true });
      await createWebhookJobSender(client, createReplication(client, 0)).send([{ id: 'first', data }]);
      await waitFor(async () => (await registered()).includes('webhooks'), { what: 'its process' });
      writer.kill('SIGTERM');
      await once(writer, 'exit');
      expect(await registered()).not.toContain('webhooks');
      await client.del('{waymark}:webhook:wait', '{waymark}:webhook:active', '{waymark}:webhook:delayed');
      startWriterProcess();
      await waitFor(async () => (await registered()).includes('webhooks'), { what: 'its process' });
    } finally {
      client.disconnect();
    }
  });

  it('stops in time while its stores are down', async () => {
    const { child: writer, ready } = startWriterProcess();
    await ready();
    await redis.kill9();
    writer.kill('SIGTERM');
    const [code] = await once(writer, 'exit');
    expect(code).toBe(0);
    await redis.restart();
  });

  it('names the missing settings and exits when no store is configured', async () => {
    const { child: writer, output } = startWriterProcess({ REDIS_URL: '', CLICKHOUSE_URL: '' });
    const [code] = await once(writer, 'exit');
    expect(code).toBe(1);
    expect(output()).toContain('REDIS_URL and CLICKHOUSE_URL');
  });
});
