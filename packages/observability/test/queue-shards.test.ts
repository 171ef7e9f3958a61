import { createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operations, startOperations } from '../src/index.js';

/** The second one is killed. */
let servers: [TestRedis, TestRedis];
let clients: [Redis, Redis];
let database: TestDatabase;
let operations: Operations;
const warnings: string[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  servers = [await startRedis({ args: ['--maxmemory', '64mb'] }), await startRedis({ args: [] })];
  clients = servers.map(
    ({ url }) => new Redis(url, { enableOfflineQueue: false, commandTimeout: 2_000 }),
  ) as typeof clients;
  for (const client of clients) client.on('error', () => undefined);
  const note = (_context: object, message: string) => warnings.push(message);
  operations = startOperations({
    ...{
      service: 'writer',
      isWriter: true,
      redis: clients[0],
      otherQueueShards: [clients[1]],
      clickhouse: database.client,
    },
    logger: { debug: () => undefined, warn: note },
    intervalMs: { components: 50, queue: 50, opsLog: 3_600_000 },
  });
});
afterAll(async () => {
  await operations.close();
  for (const client of clients) client.disconnect();
  await Promise.all([database.drop(), ...servers.map((server) => server.stop())]);
});

/** The lines of a metric, without its default labels. */
async function linesOf(metric: string): Promise<string[]> {
  const text = await operations.registry.getSingleMetricAsString(metric);
  return text.split('\n').filter((line) => line.startsWith(metric));
}

describe('the metrics of an installation with two queue shards', () => {
  it('name the shard of each queue and memory', async () => {
    const isReady = () => clients.every(({ status }) => status === 'ready');
    await waitFor(isReady, { what: 'the connections' });
    await clients[1].lpush('{waymark}:sale:wait', 'one', 'two');
    const jobs = async () =>
      (await linesOf('waymark_queue_jobs')).filter((line) => /kind="sale".*state="waiting"/.test(line));
    await waitFor(async () => (await jobs()).some((line) => line.includes('shard="1"') && line.endsWith(' 2')), {
      what: 'the jobs of shard 1',
    });
    expect((await jobs()).find((line) => line.includes('shard="0"'))).toMatch(/ 0$/);
    const memory = async () => (await linesOf('waymark_redis_memory_used_bytes')).length === 2;
    await waitFor(memory, { what: 'the memory of both shards' });
  });

  it('are in the samples of the operators by shard', async () => {
    await operations.opsLog.flush();
    const rows = await database.client.rows<[string, number]>({
      query: `SELECT metric, value FROM ops_samples WHERE metric IN ('queue_waiting:sale', 'queue_waiting:sale@1') ORDER BY metric`,
    });
    expect(rows).toEqual([
      ['queue_waiting:sale', 0],
      ['queue_waiting:sale@1', 2],
    ]);
  });

  it('a warning of its settings names the shard', async () => {
    await waitFor(() => warnings.some((line) => line.startsWith('QUEUE_SHARDS, shard 1: maxmemory')), {
      what: 'the warning',
    });
    expect(warnings.filter((line) => line.startsWith('REDIS_URL'))).toEqual([]);
  });

  it('a shard that is away is down by its name, and the other is still measured', async () => {
    await servers[1].kill9();
    const states = () =>
      Object.fromEntries(operations.components.componentStatus().map(({ component, state }) => [component, state]));
    const isOneDown = () => states()['redis-1'] === 'down' && states().redis === 'up';
    await waitFor(isOneDown, { what: 'shard 1 to be down, and no other' });
    await waitFor(async () => !(await linesOf('waymark_queue_jobs')).some((line) => line.includes('shard="1"')), {
      what: 'the queue of shard 1 to be unknown',
    });
    expect((await linesOf('waymark_queue_jobs')).length).toBeGreaterThan(0);
  });
});
