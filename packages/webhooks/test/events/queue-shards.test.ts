import { type Catalog, createCatalog, type LinkRecord } from '@waymark/catalog';
import type { ExportEndData } from '@waymark/contract';
import { queueDepths } from '@waymark/event-queue';
import { createOutbound } from '@waymark/outbound';
import { createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createJobEndNotifier,
  createWebhookNotifier,
  createWebhookWorker,
  type JobEndNotifier,
  type WebhookNotifier,
} from '../../src/index.js';
import { startReceiver } from '../delivery/receiver.js';

let database: TestDatabase;
let servers: TestRedis[];
let queueShards: Redis[];
let catalog: Catalog;
let notifier: WebhookNotifier;
let jobEndNotifier: JobEndNotifier;
let errors: object[];
const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => void errors.push(fields),
};

/** As services connect to a shard: a request waits for two seconds at most. */
function connect({ url }: TestRedis): Redis {
  const redis = new Redis(url, { commandTimeout: 2000, autoResendUnfulfilledCommands: false });
  redis.on('error', () => undefined);
  return redis;
}

beforeEach(async () => {
  errors = [];
  [database, ...servers] = await Promise.all([
    createTestDatabase(),
    startRedis({ args: [] }),
    startRedis({ args: [] }),
  ]);
  queueShards = servers.map(connect);
  const [redis, other] = queueShards as [Redis, Redis];
  catalog = createCatalog({
    ...{ redis, otherQueueShards: [other], clickhouse: database.client, instanceKey: Buffer.alloc(32, 1) },
    ...{ now: Date.now, logger, baseUrl: 'https://api.example.com' },
  });
  notifier = createWebhookNotifier({ catalog, queueShards, logger, now: Date.now, pausesMs: [10, 10, 10] });
  jobEndNotifier = createJobEndNotifier({ catalog, queueShards, logger });
});
afterEach(async () => {
  notifier.close();
  jobEndNotifier.close();
  await catalog.close();
  for (const connection of queueShards) connection.disconnect();
  await Promise.all([database.drop(), ...servers.map((server) => server.stop())]);
});

/** A link of a new workspace with a webhook. */
async function aLinkOn(queueShard: number, url = 'https://hooks.example/'): Promise<LinkRecord> {
  const slug = `shard-${queueShard}`;
  const domain = `${slug}.acme.example`;
  const { workspace } = await catalog.workspaces.create({ name: slug, slug, plan: 'enterprise', domain, queueShard });
  await catalog.webhooks.create(workspace.id, { name: 'Links', url, triggers: ['link.created', 'export.completed'] });
  return catalog.links.create(workspace.id, { domain, key: 'try', url: 'https://acme.example' });
}

const waiting = (shard: number) =>
  queueDepths(queueShards[shard] as Redis).then(({ webhook }) => webhook.waiting + webhook.delayed);

it('a change, and the end of a job, is delivered through the queue shard of its workspace', async () => {
  for (const queueShard of [0, 1]) {
    const link = await aLinkOn(queueShard);
    for (let count = 0; count <= queueShard; count++) await notifier.linkChanged('link.created', link);
    const end = { event: 'export.completed', key: link.id, endedMs: 0, data: {} as ExportEndData } as const;
    await jobEndNotifier.ended({ workspaceId: link.workspaceId, ...end });
  }
  expect(await Promise.all([waiting(0), waiting(1)])).toEqual([2, 3]);
});

it('a change while the queue shard of its workspace is away is delivered through shard 0 meanwhile', async () => {
  const receiver = await startReceiver();
  const link = await aLinkOn(1, receiver.url);
  await notifier.linkChanged('link.created', link);
  await servers[1]?.kill9();
  await notifier.linkChanged('link.created', link);
  const outbound = createOutbound({ allowedRanges: ['127.0.0.0/8'] });
  const { client: clickhouse } = database;
  const worker = createWebhookWorker({
    ...{ redisUrl: servers[0]?.url ?? '', clickhouse, catalog, outbound, logger },
  });
  await waitFor(() => receiver.received.length === 1, { what: 'the delivery of the change' });
  expect(errors).toEqual([]);
  await worker.close();
  outbound.close();
  await receiver.stop();
});

it('a webhook that is disabled loses its deliveries that wait on shard 0, because its shard was away', async () => {
  const link = await aLinkOn(1);
  const { workspaceId } = link;
  await servers[1]?.kill9();
  await notifier.linkChanged('link.created', link);
  const counted = () => queueShards[0]?.exists(`{waymark}:state:webhook-bodies:${workspaceId}`);
  expect(await counted()).toBe(1);
  const [webhook] = await catalog.webhooks.active(workspaceId);
  const { id = '' } = webhook ?? {};
  await catalog.webhooks.update(workspaceId, id, () => ({ disabledAt: '2026-01-01T00:00:00.000Z' }));
  await notifier.webhookStopped(workspaceId, id);
  expect(await counted()).toBe(0);
});

it('a shard that hangs and then takes the jobs after all delivers under the same event id as shard 0', async () => {
  const link = await aLinkOn(1);
  const pid = servers[1]?.pid ?? 0;
  const [first, second] = queueShards as [Redis, Redis];
  let hangs = false;
  /** The connection of the notifier; the shard hangs when a transaction begins. */
  const duplicate: Redis['duplicate'] = (options) => {
    const connection = second.duplicate(options);
    const multi = connection.multi.bind(connection);
    connection.multi = ((...args: []) => {
      if (hangs) process.kill(pid, 'SIGSTOP');
      return multi(...args);
    }) as typeof multi;
    return connection;
  };
  const hanging = createWebhookNotifier({
    ...{ catalog, queueShards: [first, { ...second, duplicate } as Redis], logger, now: Date.now },
  });
  // The connection and its scripts exist before the shard hangs.
  await hanging.linkChanged('link.created', link);
  hangs = true;
  try {
    await hanging.linkChanged('link.created', link);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect(errors).toEqual([]);
  const ids = (shard: number) => (queueShards[shard] as Redis).lrange('{waymark}:webhook:wait', 0, -1);
  await waitFor(async () => (await ids(1)).length === 2, { what: 'the jobs that had timed out' });
  expect(await ids(0)).toHaveLength(1);
  expect(await ids(1)).toEqual(expect.arrayContaining(await ids(0)));
  hanging.close();
});

it('a change whose look-ups fail is delivered when ClickHouse answers again', async () => {
  const link = await aLinkOn(0);
  let failures = 3;
  const objects: Catalog['links']['objects'] = (...parameters) => {
    if (failures-- > 0) return Promise.reject(new Error('ClickHouse does not answer'));
    return catalog.links.objects(...parameters);
  };
  const failing = createWebhookNotifier({
    ...{ catalog: { ...catalog, links: { ...catalog.links, objects } }, queueShards, logger, now: Date.now },
    pausesMs: [10, 10, 10],
  });
  await failing.linkChanged('link.created', link);
  await waitFor(async () => (await waiting(0)) === 1, { what: 'the delivery' });
  failing.close();
  expect([failures, errors]).toEqual([-1, []]);
});

it('a change that no Redis confirms is logged with its link and the id of its event', async () => {
  const link = await aLinkOn(1);
  await Promise.all(servers.map((server) => server.kill9()));
  // It is not refused, because the number of waiting deliveries cannot be read.
  await notifier.assertQueueCapacity(link.workspaceId, 'link.created');
  await notifier.linkChanged('link.created', link);
  await waitFor(() => errors.length === 1, { what: 'the error' });
  const { id: subjectId, workspaceId } = link;
  expect(errors[0]).toMatchObject({ workspaceId, event: 'link.created', subjectId, eventId: expect.any(String) });
});

it('a change that waits for ClickHouse when the process ends is logged with the error of ClickHouse', async () => {
  const link = await aLinkOn(0);
  const objects: Catalog['links']['objects'] = () => Promise.reject(new Error('ClickHouse does not answer'));
  const failing = createWebhookNotifier({
    ...{ catalog: { ...catalog, links: { ...catalog.links, objects } }, queueShards, logger, now: Date.now },
    pausesMs: [60_000],
  });
  await failing.linkChanged('link.created', link);
  failing.close();
  await waitFor(() => errors.length === 1, { what: 'the error' });
  expect(errors[0]).toMatchObject({ subjectId: link.id, err: { message: 'ClickHouse does not answer' } });
});
