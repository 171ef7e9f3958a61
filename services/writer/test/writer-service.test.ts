import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCatalog } from '@waymark/catalog';
import { createEventId, formatResourceId, parseResourceId } from '@waymark/contract';
import { createEventProducer, createWebhookJobSender, type EventProducer } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import {
  aClick,
  createTestDatabase,
  type ForkedService,
  forkService,
  freePort,
  startRedis,
  storeSettings,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
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

async function aProducer(): Promise<EventProducer> {
  const spoolDirectory = temporaryDirectory('waymark-writer-');
  onTestFinished(() => rmSync(spoolDirectory, { recursive: true, force: true }));
  const producer = createEventProducer({ redisUrl: redis.url, spoolDirectory, logger, clickDeadlineMs: 10_000 });
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer' });
  return producer;
}

/** Records a click of a new visitor. */
async function aClickOf(producer: EventProducer, workspaceId: string, linkId: string): Promise<void> {
  const timestampMs = Date.now();
  const clickId = createEventId(timestampMs);
  const row = aClick({ workspaceId, linkId, timestampMs, clickId });
  await producer.recordClick({ claim: `test/${clickId}`, clickId, rowText: JSON.stringify(row) });
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
    // A catalog whose clock does not advance: its cached totals never expire, so only an invalidation evicts them.
    const catalog = createCatalog({
      ...{ redis: client, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: () => 0, logger },
      baseUrl: 'https://api.example.com',
    });
    const producer = await aProducer();
    const [workspaceId, linkId] = [formatResourceId('workspace', '7'), formatResourceId('link', '11')];
    const known = async () => (await catalog.links.cachedCounters(workspaceId, [linkId])).get(linkId)?.clicks ?? 0;
    try {
      await waitFor(catalog.isSubscribed, { what: 'the catalog to subscribe' });
      for (const count of [1, 2, 3]) {
        expect(await known()).toBe(count - 1);
        await aClickOf(producer, '7', '11');
        await waitFor(async () => (await known()) === count, { what: `${count} clicks` });
      }
    } finally {
      await producer.close();
      await catalog.close();
      client.disconnect();
      writer.kill('SIGTERM');
      await once(writer, 'exit');
    }
  });

  it('marks totals before the insert that changes them, because it may be killed before it evicts them', async () => {
    const { child: writer, ready } = startWriterProcess();
    const client = new Redis(redis.url);
    const producer = await aProducer();
    const rename = (from: string, to: string) => database.client.command({ query: `RENAME TABLE ${from} TO ${to}` });
    const entries = async () => {
      const keys = await client.keys(`*{${formatResourceId('workspace', '8')}}:totals:*`);
      return Promise.all(keys.map((key) => client.get(key)));
    };
    try {
      await ready();
      // Inserts fail, so none is followed by its eviction.
      await rename('click_events', 'click_events_away');
      await aClickOf(producer, '8', '11');
      await waitFor(async () => (await entries()).some((entry) => entry?.startsWith('!')), { what: 'a mark' });
    } finally {
      await rename('click_events_away', 'click_events');
      writer.kill('SIGTERM');
      await once(writer, 'exit');
      await producer.close();
      client.disconnect();
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
      expect(await registered()).not.toContain('webhooks');
      // Some systems do not list children.
      const children = `/proc/${writer.pid}/task/${writer.pid}/children`;
      if (existsSync(children)) expect(readFileSync(children, 'utf8')).toBe('');
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

  it('records each insert with the number of inserts of the other queue shards, which shows whether ClickHouse still has its token', async () => {
    const shard = await startRedis();
    const [client, other] = [new Redis(redis.url), new Redis(shard.url)];
    const producer = await aProducer();
    await other.set('{waymark}:inserts', 4321);
    const { child: writer, ready } = startWriterProcess({ QUEUE_SHARDS: shard.url });
    try {
      await ready();
      const counts = async () => {
        await aClickOf(producer, '7', '12');
        const batches = await client.keys('{waymark}:group:*');
        return Promise.all(batches.map((batch) => client.hget(batch, 'elsewhere')));
      };
      await waitFor(async () => (await counts()).includes('[4321]'), { what: 'the count', timeoutMs: 30_000 });
    } finally {
      writer.kill('SIGTERM');
      await once(writer, 'exit');
      // Of the two shards.
      await client.del('{waymark}:shard');
      await producer.close();
      for (const one of [client, other]) one.disconnect();
      await shard.stop();
    }
  });

  it('delivers to no address of this machine by default', async () => {
    let requests = 0;
    const receiver = createServer((_request, response) => {
      requests += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const client = new Redis(redis.url);
    const catalog = createCatalog({
      ...{ redis: client, clickhouse: database.client, instanceKey: Buffer.from(TEST_INSTANCE_KEY, 'hex') },
      ...{ now: Date.now, logger, baseUrl: 'https://api.example.com' },
    });
    const producer = await aProducer();
    const domain = 'go.acme.com';
    const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise', domain });
    const link = await catalog.links.create(workspace.id, { domain, key: 'try', url: 'https://acme.com/' });
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const hook = { name: 'Hook', url, triggers: ['link.clicked'], linkScope: 'workspace' as const };
    await catalog.webhooks.create(workspace.id, hook);
    const { child: writer } = startWriterProcess();
    try {
      const numbers = [parseResourceId('workspace', workspace.id), parseResourceId('link', link.id)] as const;
      await aClickOf(producer, numbers[0] ?? '', numbers[1] ?? '');
      const attempts = await waitFor(
        async () => {
          const rows = await database.client.rows({ query: 'SELECT status, error FROM webhook_deliveries' });
          return rows.length > 0 && rows;
        },
        { what: 'an attempt' },
      );
      expect([attempts, requests]).toEqual([[[503, 'the host has no public address']], 0]);
    } finally {
      writer.kill('SIGTERM');
      await once(writer, 'exit');
      await producer.close();
      await catalog.close();
      client.disconnect();
      receiver.close();
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
