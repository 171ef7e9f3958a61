import { type Catalog, createCatalog } from '@waymark/catalog';
import type { ExportEndData } from '@waymark/contract';
import { jobKey, queueDepths, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { createOutbound } from '@waymark/outbound';
import {
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  untilConfirming,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createDeliveryLog } from '../../src/delivery/delivery-log.js';
import { createFailureCounts } from '../../src/delivery/failure-counts.js';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { createJobEndNotifier, createWebhookNotifier, createWebhookWorker, replayDeliveries } from '../../src/index.js';
import { startReceiver } from '../delivery/receiver.js';
import { jobSender } from '../job-sender.js';

let database: TestDatabase;
let master: TestRedis;
let replica: TestRedis;
let redis: Redis;
let promoted: Redis;
let catalog: Catalog;
let workspaceId: string;
let webhookId: string;
const logger = { debug: () => undefined, warn: () => undefined, error: () => undefined };

beforeEach(async () => {
  const args = ['--repl-diskless-sync-delay', '0'];
  [database, master, replica] = await Promise.all([createTestDatabase(), startRedis({ args }), startRedis({ args })]);
  redis = new Redis(master.url);
  promoted = new Redis(replica.url);
  catalog = createCatalog({
    ...{ redis, clickhouse: database.client, instanceKey: Buffer.alloc(32, 1), now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  const made = await catalog.workspaces.create({ name: 'A', slug: 'a', plan: 'enterprise', domain: 'go.acme.example' });
  workspaceId = made.workspace.id;
  const hook = await catalog.webhooks.create(workspaceId, {
    ...{ name: 'All', url: 'https://hooks.example/', triggers: ['link.created', 'export.completed'] },
  });
  webhookId = hook.id;
  await promoted.replicaof('127.0.0.1', String(master.port));
  await untilConfirming(redis);
});
afterEach(async () => {
  await catalog.close();
  redis.disconnect();
  promoted.disconnect();
  await Promise.all([database.drop(), replica.stop(), master.stop()]);
});

/**
 * Ends the failover that began with the promotion: the old master follows the new one, by which it loses what it had alone, and takes its
 * place again.
 */
async function failBack(): Promise<void> {
  await redis.replicaof('127.0.0.1', String(replica.port));
  await untilConfirming(promoted);
  await redis.replicaof('NO', 'ONE');
  await promoted.replicaof('127.0.0.1', String(master.port));
}

/** Number of WAIT commands so far. */
async function countWaits(): Promise<number> {
  return Number(/cmdstat_wait:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

const waiting = (shard = redis) => queueDepths(shard).then(({ webhook }) => webhook.waiting + webhook.delayed);

it('a change whose delivery only the old master had is delivered after a failover', async () => {
  const pausesMs = Array.from({ length: 500 }, () => 100);
  const notifier = createWebhookNotifier({
    ...{ catalog, queueShards: [redis], waitReplicas: 1, logger, now: Date.now, pausesMs },
  });
  const link = await catalog.links.create(workspaceId, {
    ...{ domain: 'go.acme.example', key: 'try', url: 'https://acme.example' },
  });
  // From here on the old master takes writes that the new one does not get.
  await promoted.replicaof('NO', 'ONE');
  await notifier.linkChanged('link.created', link);
  await failBack();
  await waitFor(async () => (await waiting()) === 1, { what: 'the delivery to be queued again', timeoutMs: 20_000 });
  notifier.close();
}, 120_000);

it('the end of a job that no replica has is not reported as sent, and is sent once when it is reported again', async () => {
  const notifier = createJobEndNotifier({ catalog, queueShards: [redis], waitReplicas: 1, logger });
  const ended = () =>
    notifier.ended({ event: 'export.completed', workspaceId, key: 'job', endedMs: 0, data: {} as ExportEndData });
  await promoted.replicaof('NO', 'ONE');
  // The second call finds the jobs, and must wait for the replicas as well.
  for (let call = 0; call < 2; call++) await expect(ended()).rejects.toThrow('0 of 1 replicas');
  await failBack();
  expect(await waiting()).toBe(0);
  await untilConfirming(redis);
  await ended();
  await ended();
  expect(await waiting()).toBe(1);
  notifier.close();
}, 120_000);

it('a replay of deliveries fails while no replica has its jobs', async () => {
  const log = createDeliveryLog(database.client);
  await log.add({
    ...{
      workspaceId,
      webhookId,
      eventId: 'evt_1',
      event: 'link.created',
      attempt: 1,
      startedMs: Date.now(),
      elapsedMs: 5,
    },
    ...{ url: 'https://hooks.example/', status: 500, error: '', requestBody: '{}', responseBody: '' },
  });
  await log.close();
  const selection = { workspaceId, limit: 10 };
  const replay = () => replayDeliveries(database.client, redis, selection, { waitReplicas: 1 });
  expect(await replay()).toBe(1);
  await promoted.replicaof('NO', 'ONE');
  await expect(replay()).rejects.toThrow('0 of 1 replicas');
}, 120_000);

it('a job whose retries no replica has is not completed, and delivers nothing twice', async () => {
  const receiver = await startReceiver();
  receiver.answer((response) => void response.writeHead(500).end());
  const hook = await catalog.webhooks.create(workspaceId, {
    ...{ name: 'Failing', url: receiver.url, triggers: ['link.created'] },
  });
  await promoted.replicaof('NO', 'ONE');
  const id = webhookJobId(hook.id, 'a');
  const data = jobText({
    ...{ workspaceId, webhookId: hook.id, event: 'link.created', events: [{ id: 'evt_1', body: '{}' }], attempt: 2 },
  });
  await jobSender(redis).send([{ id, data }]);
  const outbound = createOutbound({ allowedRanges: ['127.0.0.0/8'] });
  const worker = createWebhookWorker({
    ...{ redisUrl: master.url, waitReplicas: 1, clickhouse: database.client, catalog, outbound },
    logger: { ...logger, info: logger.debug },
  });
  try {
    const ended = () => redis.hmget(jobKey(WEBHOOK_QUEUE, id), 'failedReason', 'finishedOn');
    // Each time BullMQ repeated a job that has failed, after five seconds at most, its event would be delivered again.
    await waitFor(async () => (await countWaits()) >= 6, { what: 'some questions to the replicas', timeoutMs: 60_000 });
    expect(await ended()).toEqual([null, null]);
    await promoted.replicaof('127.0.0.1', String(master.port));
    await waitFor(async () => (await ended())[1] !== null, { what: 'the end of the job', timeoutMs: 30_000 });
    expect((await ended())[0]).toBeNull();
    expect(receiver.received).toHaveLength(1);
    expect(await createFailureCounts(redis).read(hook)).toBe(1);
    expect(await waiting()).toBe(1);
  } finally {
    await worker.close();
    outbound.close();
    await receiver.stop();
  }
}, 120_000);

it('a shard whose replicas do not confirm has one delivery of a workspace, and shard 0 has all, in the next ten seconds', async () => {
  const args = ['--repl-diskless-sync-delay', '0'];
  const [firstMaster, firstReplica] = await Promise.all([startRedis({ args }), startRedis({ args })]);
  const [first, follower] = [new Redis(firstMaster.url), new Redis(firstReplica.url)];
  try {
    await follower.replicaof('127.0.0.1', String(firstMaster.port));
    await untilConfirming(first);
    const pick = async <T>(perShard: readonly T[]) => perShard[1] as T;
    const notifier = createWebhookNotifier({
      catalog: { ...catalog, queueShards: { ...catalog.queueShards, pick } },
      ...{ queueShards: [first, redis], waitReplicas: 1, logger, now: Date.now },
    });
    const keys = ['a', 'b', 'c'];
    const links = await Promise.all(
      keys.map((key) =>
        catalog.links.create(workspaceId, { domain: 'go.acme.example', key, url: 'https://acme.example' }),
      ),
    );
    await promoted.replicaof('NO', 'ONE');
    for (const link of links) await notifier.linkChanged('link.created', link);
    expect([await waiting(first), await waiting()]).toEqual([3, 1]);
    notifier.close();
  } finally {
    first.disconnect();
    follower.disconnect();
    await Promise.all([firstReplica.stop(), firstMaster.stop()]);
  }
}, 120_000);
