import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { createEventId, parseResourceId } from '@waymark/contract';
import {
  createEventProducer,
  createEventWriter,
  type EventProducer,
  type EventWriter,
  queueDepths,
  WEBHOOK_QUEUE,
} from '@waymark/event-queue';
import { aClick, createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { createEventJobLimit, createWebhookJobPlanner } from '@waymark/webhooks';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lateRowsOf } from '../src/index.js';

/** Values that this release does not have, as a later one may store them. */
const OF_LATER = 'of a later release';
const logger = { debug() {}, info() {}, warn() {}, error() {} };
/** Lines of the writer about work that it tries again, such as inserts. */
const refusals: string[] = [];

let redis: TestRedis;
let database: TestDatabase;
let client: Redis;
let spoolDirectory: string;
/** Stores records as a process of a later release would, in the stores that it shares with a writer of this one. */
let later: Catalog;
let catalog: Catalog;
let producer: EventProducer;
let writer: EventWriter | undefined;

const aCatalog = () =>
  createCatalog({
    ...{ redis: client, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  client = new Redis(redis.url, { maxRetriesPerRequest: null });
  [later, catalog] = [aCatalog(), aCatalog()];
  spoolDirectory = await mkdtemp(join(tmpdir(), 'waymark-unreadable-'));
  producer = createEventProducer({ redisUrl: redis.url, spoolDirectory, logger, clickDeadlineMs: 10_000 });
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer' });
});
afterAll(async () => {
  await writer?.close();
  await producer.close();
  await Promise.all([later.close(), catalog.close()]);
  client.disconnect();
  await Promise.all([redis.stop(), database.drop(), rm(spoolDirectory, { recursive: true, force: true })]);
});

async function aWorkspace(slug: string) {
  const created = { name: slug, slug, plan: 'enterprise', domain: `go.${slug}.example` } as const;
  const { workspace } = await later.workspaces.create(created);
  return workspace.id;
}

/** Replaces a text in a stored record, as a process of a later release would store it. */
async function replaceIn(table: string, id: string, text: string, by: string): Promise<void> {
  await database.client.command({
    query: `INSERT INTO ${table} SELECT * REPLACE (version + 1 AS version, replaceOne(data, {text:String}, {by:String}) AS data)
FROM ${table} FINAL WHERE JSONExtractString(data, 'id') = {id:String}`,
    query_params: { text, by, id },
  });
  const cached = await client.keys('waymark:cache:*');
  if (cached.length > 0) await client.del(cached);
}

/** Records clicks. @returns their ids */
async function clicksOf(workspaceId: string, linkId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const [timestampMs, workspace] = [Date.now(), parseResourceId('workspace', workspaceId) ?? ''];
    const clickId = createEventId(timestampMs);
    const link = parseResourceId('link', linkId) ?? '';
    const row = aClick({ workspaceId: workspace, linkId: link, timestampMs, clickId });
    await producer.recordClick({ claim: `test/${clickId}`, clickId, rowText: JSON.stringify(row) });
    ids.push(clickId);
  }
  return ids.sort();
}

async function storedIn(workspaceId: string): Promise<string[]> {
  const rows = await database.client.rows<[string]>({
    query: 'SELECT click_id FROM click_events WHERE workspace_id = {workspace:UInt64} ORDER BY click_id',
    parameters: { workspace: parseResourceId('workspace', workspaceId) },
  });
  return rows.map(([id]) => id);
}

const isQueueEmpty = async () => {
  const { click } = await queueDepths(client);
  return click !== undefined && click.waiting + click.active + click.delayed === 0;
};

it('records that a writer cannot read stop no insert; while it cannot read an erasure, all inserts wait, and nothing is lost', async () => {
  const [bad, good] = [await aWorkspace('bad'), await aWorkspace('good')];
  const linkIn = (workspaceId: string, slug: string) =>
    later.links.create(workspaceId, { domain: `go.${slug}.example`, key: 'a', url: 'https://acme.example/' });
  const [badLink, goodLink] = [await linkIn(bad, 'bad'), await linkIn(good, 'good')];
  const aHook = (url: string) => ({ name: 'Hook', url, triggers: ['link.clicked'], linkScope: 'workspace' as const });
  // A webhook, and a link that its scope is looked up in; an erasure follows.
  const hook = await later.webhooks.create(bad, aHook('https://bad.example/'));
  const listing = await later.webhooks.create(bad, aHook('https://links.example/'));
  await later.webhooks.create(good, aHook('https://good.example/'));
  await later.webhooks.update(bad, listing.id, () => ({ linkScope: 'links' }));
  await replaceIn('webhooks', hook.id, '"workspace"', `"${OF_LATER}"`);
  await replaceIn('links', badLink.id, '"tagIds":[]', `"tagIds":"${OF_LATER}"`);

  writer = createEventWriter({
    ...{ redisUrl: redis.url, clickhouse: database.client, limits: { batchDelayMs: 10 }, closeMs: 2_000 },
    logger: {
      ...logger,
      warn: (_context: object, message: string) => void (message.startsWith('inserting') && refusals.push(message)),
    },
    lateRows: lateRowsOf(catalog),
    webhookJobsOf: createWebhookJobPlanner({
      catalog,
      limit: createEventJobLimit({ redis: client, onDropped: () => undefined, logger }),
    }),
  });
  const before = { bad: await clicksOf(bad, badLink.id, 2), good: await clicksOf(good, goodLink.id, 2) };
  await waitFor(isQueueEmpty, { what: 'all clicks to be acknowledged' });
  expect([await storedIn(bad), await storedIn(good)]).toEqual([before.bad, before.good]);
  // Clicks of the webhook with listed links are checked again when they are delivered.
  expect((await queueDepths(client))[WEBHOOK_QUEUE]?.waiting).toBeGreaterThan(1);

  const erasure = await later.erasures.accept(bad, { externalId: 'ann', customerIds: [] }, 'anonymise');
  await replaceIn('erasures', erasure.id, '"anonymise"', `"${OF_LATER}"`);
  catalog.erasures.people.onGap();
  const during = { bad: await clicksOf(bad, badLink.id, 3), good: await clicksOf(good, goodLink.id, 3) };
  await waitFor(() => refusals.length > 1, { what: 'the second attempt of an insert' });
  expect([await storedIn(bad), await storedIn(good)]).toEqual([before.bad, before.good]);

  // A release that can read it: here the record is replaced by one of this release.
  await replaceIn('erasures', erasure.id, OF_LATER, 'anonymise');
  catalog.erasures.people.onGap();
  await waitFor(isQueueEmpty, { what: 'the inserts that waited' });
  expect(await storedIn(bad)).toEqual([...before.bad, ...during.bad].sort());
  expect(await storedIn(good)).toEqual([...before.good, ...during.good].sort());
});
