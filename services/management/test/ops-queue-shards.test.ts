import { insertRows, OPS_TABLES } from '@waymark/clickhouse';
import { QUEUE_PREFIX } from '@waymark/event-queue';
import { createApp, createLogger } from '@waymark/http-kit';
import { createTestDatabase, startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createPanelReader } from '../src/ops/panel-reader.js';
import { QUEUE_BOARD_PATH, queueBoard } from '../src/ops/queues/queue-board.js';

let servers: TestRedis[];
let clients: Redis[];
const app = createApp({
  logger: createLogger({ name: 'test', level: 'silent' }),
  docBase: 'https://docs.example.com',
  trustedProxies: [],
});
beforeAll(async () => {
  servers = [await startRedis({ args: [] }), await startRedis({ args: [] })];
  clients = servers.map(({ url }) => new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0 }));
  for (const client of clients) client.on('error', () => undefined);
  await waitFor(() => clients.every(({ status }) => status === 'ready'), { what: 'the connections' });
  app.register((scope) => queueBoard(scope, { queueShards: clients }));
  await app.ready();
});
afterAll(async () => {
  await app.close();
  for (const client of clients) client.disconnect();
  await Promise.all(servers.map((server) => server.stop()));
});

async function queueNames(): Promise<string[]> {
  const answer = await app.inject(`${QUEUE_BOARD_PATH}/api/queues`);
  expect(answer.statusCode).toBe(200);
  return answer.json<{ queues: { name: string }[] }>().queues.map(({ name }) => name);
}

it('the page shows the queues of every shard that answers', async () => {
  await clients[1]?.lpush('{waymark}:sale:wait', 'one');
  const both = await queueNames();
  expect(both).toEqual(expect.arrayContaining(['sale', 'shard 1 sale', 'shard 1 webhook']));
  const own = both.filter((name) => !name.startsWith('shard'));
  expect(both).toHaveLength(2 * own.length);
  await servers[1]?.kill9();
  await waitFor(() => clients[1]?.status !== 'ready', { what: 'shard 1 to be away' });
  expect(await queueNames()).toEqual(own);
});

it('a page of jobs has at most a hundred of them, however many a request asks for', async () => {
  const [connection] = clients as [Redis];
  const queue = new Queue('lead', { prefix: QUEUE_PREFIX, connection });
  onTestFinished(() => queue.close());
  await queue.addBulk(Array.from({ length: 150 }, () => ({ name: 'lead', data: {} })));
  const list = async (jobsPerPage: string) => {
    const query = { activeQueue: 'lead', status: 'waiting', jobsPerPage };
    const answer = await app.inject({ url: `${QUEUE_BOARD_PATH}/api/queues`, query });
    const { queues } = answer.json<{ queues: { name: string; jobs: unknown[] }[] }>();
    return queues.find(({ name }) => name === 'lead')?.jobs.length;
  };
  expect([await list('20'), await list('1000000000'), await list('1e9')]).toEqual([20, 100, 100]);
});

it('the page is loaded again after an attempt that failed', async () => {
  const [client] = clients as [Redis];
  const own = createApp({
    logger: createLogger({ name: 'test', level: 'silent' }),
    docBase: 'https://docs.example.com',
    trustedProxies: [],
  });
  onTestFinished(() => own.close());
  own.register((scope) => queueBoard(scope, { queueShards: [client] }));
  // BullMQ refuses connections with a prefix.
  client.options.keyPrefix = 'x:';
  expect((await own.inject(QUEUE_BOARD_PATH)).statusCode).toBe(500);
  client.options.keyPrefix = '';
  expect((await own.inject(QUEUE_BOARD_PATH)).statusCode).toBe(200);
});

it('the panels add the queues of all shards up, and show each in a table', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const nowMs = Date.now();
  const samples: [string, number][] = [
    ['queue_waiting:click', 5],
    ['queue_active:click', 1],
    ['queue_waiting:click@2', 7],
    ['queue_oldest_ms:click', 1_000],
    ['queue_oldest_ms:click@2', 61_000],
    ['dead_letters', 3],
    ['redis_used_bytes@2', 512],
    ['redis_limit_bytes@2', 1024],
  ];
  await insertRows(database.client, {
    table: 'ops_samples',
    columns: OPS_TABLES.ops_samples,
    rows: samples.map(([metric, value]) => [nowMs - 60_000, 'writer', 'host:1', metric, value]),
  });
  const logger = { warn: (context: object, message: string) => expect.fail(`${message}: ${JSON.stringify(context)}`) };
  const reader = createPanelReader({ clickhouse: database.client, logger, now: () => nowMs });
  const { plots, tables } = await reader.read({ id: '1h', label: '1 hour', seconds: 3600, step: 15 }, false);
  const valuesOf = (id: string) => plots[id]?.series.flatMap(({ values }) => values.filter((value) => value !== null));
  expect(valuesOf('queue')).toEqual([13]);
  expect(valuesOf('age')).toEqual([61_000]);
  expect(valuesOf('dead-letters')).toEqual([3]);
  const cells = (tables['queue-shards'] ?? '').replace(/<[^>]*>/g, ' ').split(/\s+/);
  expect(cells.join(' ')).toContain('0 6');
  expect(cells.join(' ')).toContain('2 7');
  expect(cells.join(' ')).toContain(`50 % ${new Date(nowMs - 60_000).toISOString().slice(0, 10)}`);
  // The first shard has no limit, so that no share of it is known.
  expect(cells.filter((cell) => cell === '%')).toHaveLength(1);
});
