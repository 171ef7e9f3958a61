import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Catalog, createCatalog, type LinkRecord } from '@waymark/catalog';
import { createEventId, parseResourceId } from '@waymark/contract';
import { createEventProducer, type EventProducer } from '@waymark/event-queue';
import {
  aClick,
  bundleProcess,
  createTestDatabase,
  forkService,
  startRedis,
  storeSettings,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const WRITER = new URL('../dist/main.js', import.meta.url);
const HALTED_WRITER = await bundleProcess(new URL('./halted-writer.ts', import.meta.url));

let redis: TestRedis;
let database: TestDatabase;
let client: Redis;
let catalog: Catalog;
let producer: EventProducer;
let receiver: Server;
let spool: string;
let link: LinkRecord;
/** The event ids of the deliveries of each click, in the order of arrival. */
const deliveries = new Map<string, string[]>();
const children: ChildProcess[] = [];

beforeAll(async () => {
  [redis, database, spool] = await Promise.all([
    startRedis(),
    createTestDatabase(),
    mkdtemp(join(tmpdir(), 'waymark-kills-')),
  ]);
  client = new Redis(redis.url);
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const instanceKey = Buffer.from(TEST_INSTANCE_KEY, 'hex');
  const baseUrl = 'https://api.example.com';
  catalog = createCatalog({
    redis: client,
    clickhouse: database.client,
    instanceKey,
    now: Date.now,
    logger,
    baseUrl,
  });
  producer = createEventProducer({
    redisUrl: redis.url,
    spoolDirectory: spool,
    logger,
    clickDeadlineMs: 10_000,
  });
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer' });
  receiver = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { id, data } = JSON.parse(text) as { id: string; data: { click: { id: string } } };
      deliveries.set(data.click.id, [...(deliveries.get(data.click.id) ?? []), id]);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { workspace } = await catalog.workspaces.create({
    name: 'Acme',
    slug: 'acme',
    plan: 'enterprise',
    domain: 'go.acme.com',
  });
  link = await catalog.links.create(workspace.id, { domain: 'go.acme.com', key: 'try', url: 'https://acme.com/' });
  await catalog.webhooks.create(workspace.id, {
    name: 'Hook',
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    triggers: ['link.clicked'],
    linkScope: 'workspace',
  });
});
beforeEach(() => deliveries.clear());
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) await kill9(child);
  }
});
afterAll(async () => {
  await producer.close();
  await catalog.close();
  client.disconnect();
  receiver.closeAllConnections();
  receiver.close();
  await Promise.all([redis.stop(), database.drop(), rm(spool, { recursive: true, force: true })]);
});

function forkWriter(entry: URL): ChildProcess {
  const { child } = forkService(entry, {
    ...{ ...storeSettings(redis, database), OUTBOUND_ALLOWED_RANGES: '127.0.0.0/8' },
    ...{ WRITER_PORT: '0', LOG_LEVEL: 'silent' },
  });
  children.push(child);
  return child;
}

/** Kills a writer and its child process, which delivers the webhooks. */
async function kill9(child: ChildProcess): Promise<void> {
  const own = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').catch(() => '');
  child.kill('SIGKILL');
  for (const pid of own.split(' ').filter((text) => text.trim() !== '')) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended with its parent.
    }
  }
  await once(child, 'exit');
}

/** Records clicks. @returns their ids */
function clicks(count: number): Promise<string[]> {
  const one = async () => {
    const timestampMs = Date.now();
    const row = aClick({
      workspaceId: parseResourceId('workspace', link.workspaceId) ?? '',
      linkId: parseResourceId('link', link.id) ?? '',
      clickId: createEventId(timestampMs),
      timestampMs,
    });
    const clickId = String(row[2]);
    await producer.recordClick({ claim: `test/${clickId}`, clickId, rowText: JSON.stringify(row) });
    return clickId;
  };
  return Promise.all(Array.from({ length: count }, one));
}

async function stored(ids: readonly string[]): Promise<number[]> {
  const result = await database.client.query({
    query: 'SELECT count() AS rows, uniqExact(click_id) AS ids FROM click_events WHERE click_id IN {ids:Array(String)}',
    query_params: { ids },
    format: 'JSONEachRow',
  });
  const [counts] = await result.json<{ rows: string; ids: string }>();
  return [Number(counts?.rows), Number(counts?.ids)];
}

const untilAllDelivered = (ids: readonly string[]) =>
  waitFor(() => ids.every((id) => deliveries.has(id)), { what: 'every click to be delivered', timeoutMs: 90_000 });

describe('webhooks of a writer that is killed', () => {
  it('are delivered even if it was killed after an insert, before it had added the webhook jobs', async () => {
    const halted = forkWriter(HALTED_WRITER);
    const ids = await clicks(20);
    await once(halted, 'message');
    await kill9(halted);
    // As if the locks of the killed writer had expired; in the next test they do expire.
    const locks = await client.keys('*:lock');
    expect(locks).not.toEqual([]);
    await client.del(locks);
    expect(await stored(ids)).toEqual([20, 20]);
    expect(deliveries.size).toBe(0);

    forkWriter(WRITER);
    await untilAllDelivered(ids);
    expect(await stored(ids)).toEqual([20, 20]);
    expect([...deliveries.values()].every((events) => events.length === 1)).toBe(true);
  }, 120_000);

  it('are delivered for every click, under one event id, however often it is killed during deliveries', async () => {
    const ids: string[] = [];
    for (let kill = 0; kill < 3; kill++) {
      const writer = forkWriter(WRITER);
      const before = deliveries.size;
      ids.push(...(await clicks(150)));
      await waitFor(() => deliveries.size > before, { what: 'a delivery' });
      await kill9(writer);
    }
    forkWriter(WRITER);
    await untilAllDelivered(ids);
    expect(await stored(ids)).toEqual([450, 450]);
    expect([...deliveries.values()].every((events) => new Set(events).size === 1)).toBe(true);
  }, 240_000);
});
