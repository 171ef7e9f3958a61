import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Catalog, type CustomerRecord, createCatalog, type LinkRecord, type NewLink } from '@waymark/catalog';
import { createEventId, parseResourceId } from '@waymark/contract';
import { EVENT_TABLES, type EventRow, type LeadFields, type SaleFields } from '@waymark/event-format';
import {
  createEventProducer,
  createEventWriter,
  type EventProducer,
  QUEUE_PREFIX,
  type QueueLogger,
  WEBHOOK_QUEUE,
} from '@waymark/event-queue';
import { createOutbound } from '@waymark/outbound';
import { aClick, aLead, aSale, createTestDatabase, startRedis, type TestDatabase, waitFor } from '@waymark/test-kit';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import {
  createEventJobLimit,
  createWebhookJobPlanner,
  createWebhookNotifier,
  createWebhookWorker,
  type WebhookNotifier,
  type WebhookWorker,
  type WebhookWorkerOptions,
} from '../src/index.js';

const EVENT_ID = EVENT_TABLES.lead.columns[1].indexOf('event_id');
export const SILENT: QueueLogger = { debug() {}, info() {}, warn() {}, error() {} };

export type NewHook = Parameters<Catalog['webhooks']['create']>[1];

/** A workspace with its stores, and the whole path from an event to its webhooks: producer, writer and webhook worker. */
export interface WebhookFixture {
  readonly catalog: Catalog;
  readonly database: TestDatabase;
  readonly redis: Redis;
  readonly queue: Queue;
  readonly notifier: WebhookNotifier;
  readonly workspaceId: string;
  readonly host: string;
  aLink(fields?: Partial<NewLink>): Promise<LinkRecord>;
  aHook(url: string, fields?: Partial<NewHook>): ReturnType<Catalog['webhooks']['create']>;
  /** Records a click of a new visitor. */
  click(link: LinkRecord, facts?: Parameters<typeof aClick>[0]): Promise<EventRow>;
  aCustomer(): Promise<CustomerRecord>;
  lead(click: EventRow, customer: CustomerRecord, facts?: Partial<LeadFields>): Promise<EventRow>;
  /** One call of `/track/lead` that counts several leads. @returns its rows */
  leads(quantity: number, click: EventRow, customer: CustomerRecord, facts?: Partial<LeadFields>): Promise<EventRow[]>;
  sale(click: EventRow, customer: CustomerRecord, facts?: Partial<SaleFields>): Promise<EventRow>;
  startWorker(options?: Partial<WebhookWorkerOptions> & { readonly allowedRanges?: string[] }): WebhookWorker;
  /** Stops the workers, empties the queue and deletes the webhooks. */
  reset(): Promise<void>;
  select<T>(query: string): Promise<T[]>;
  stop(): Promise<void>;
}

async function connectedProducer(redisUrl: string, spoolDirectory: string): Promise<EventProducer> {
  const producer = createEventProducer({ redisUrl, spoolDirectory, logger: SILENT, clickDeadlineMs: 10_000 });
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer to be connected' });
  return producer;
}

export async function startWebhookFixture(): Promise<WebhookFixture> {
  const [server, database] = await Promise.all([startRedis(), createTestDatabase()]);
  const spool = await mkdtemp(join(tmpdir(), 'waymark-webhooks-'));
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  const catalog = createCatalog({
    redis,
    clickhouse: database.client,
    instanceKey: Buffer.alloc(32, 7),
    now: Date.now,
    logger: { warn: () => undefined },
    baseUrl: 'https://api.example.com',
  });
  const producer = await connectedProducer(server.url, spool);
  const host = `go.${randomUUID().slice(0, 8)}.example`;
  const { workspace } = await catalog.workspaces.create({
    name: 'Acme',
    slug: `acme-${randomUUID().slice(0, 8)}`,
    plan: 'enterprise',
    domain: host,
  });
  const writer = createEventWriter({
    redisUrl: server.url,
    clickhouse: database.client,
    logger: SILENT,
    limits: { batchDelayMs: 10 },
    closeMs: 2000,
    webhookJobsOf: createWebhookJobPlanner({
      catalog,
      limit: createEventJobLimit({ redis, onDropped: () => undefined, logger: SILENT }),
    }),
  });
  const queue = new Queue(WEBHOOK_QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
  const notifier = createWebhookNotifier({ catalog, queueShards: [redis], logger: SILENT, now: Date.now });
  const stops: (() => Promise<void> | void)[] = [];
  const workspaceId = workspace.id;
  const numberOf = (customer: CustomerRecord) => parseResourceId('customer', customer.id) ?? '';

  return {
    catalog,
    database,
    redis,
    queue,
    notifier,
    workspaceId,
    host,
    aLink: (fields = {}) =>
      catalog.links.create(workspaceId, {
        domain: host,
        key: randomUUID().slice(0, 12),
        url: 'https://acme.com/try',
        ...fields,
      }),
    aHook: (url, fields = {}) =>
      catalog.webhooks.create(workspaceId, { name: 'Hook', url, triggers: ['lead.created'], ...fields }),
    async click(link, facts = {}) {
      const timestampMs = Date.now();
      const row = aClick({
        workspaceId: parseResourceId('workspace', workspaceId) ?? '',
        linkId: parseResourceId('link', link.id) ?? '',
        clickId: createEventId(timestampMs),
        timestampMs,
        ...facts,
      });
      const clickId = String(row[2]);
      await producer.recordClick({ claim: `test/${clickId}`, clickId, rowText: JSON.stringify(row) });
      return row;
    },
    aCustomer: () =>
      catalog.customers.create(workspaceId, { externalId: randomUUID(), name: 'Ada', email: 'ada@example.com' }),
    async lead(click, customer, facts = {}) {
      const timestampMs = Date.now();
      const row = aLead({ click, timestampMs, customerId: numberOf(customer), ...facts });
      await producer.commit({ rows: [{ kind: 'lead', row }], finals: [] });
      return row;
    },
    async leads(quantity, click, customer, facts = {}) {
      const timestampMs = facts.timestampMs ?? Date.now();
      const row = aLead({ click, timestampMs, customerId: numberOf(customer), ...facts });
      const copyIds = Array.from({ length: quantity - 1 }, () => createEventId(timestampMs));
      await producer.commit({ rows: [{ kind: 'lead', row, copyIds }], finals: [] });
      return [row, ...copyIds.map((id) => row.with(EVENT_ID, id))];
    },
    async sale(click, customer, facts = {}) {
      const timestampMs = Date.now();
      const row = aSale({ click, timestampMs, customerId: numberOf(customer), ...facts });
      await producer.commit({ rows: [{ kind: 'sale', row }], finals: [] });
      return row;
    },
    startWorker({ allowedRanges = ['127.0.0.0/8'], ...rest } = {}) {
      const outbound = createOutbound({ allowedRanges });
      const worker = createWebhookWorker({
        redisUrl: server.url,
        clickhouse: database.client,
        catalog,
        outbound,
        logger: SILENT,
        closeMs: 1000,
        ...rest,
      });
      stops.push(async () => {
        await worker.close();
        outbound.close();
      });
      return worker;
    },
    async reset() {
      await Promise.all(stops.splice(0).map((stop) => stop()));
      await queue.obliterate({ force: true });
      const hooks = await catalog.webhooks.active(workspaceId);
      await Promise.all(hooks.map(({ id }) => catalog.webhooks.remove(workspaceId, id)));
      await waitFor(async () => (await catalog.webhooks.active(workspaceId)).length === 0, { what: 'no webhook' });
    },
    async select(query) {
      return (await database.client.query({ query, format: 'JSONEachRow' })).json();
    },
    async stop() {
      await Promise.all(stops.splice(0).map((stop) => stop()));
      await producer.close();
      await writer.close();
      await queue.close();
      notifier.close();
      await catalog.close();
      redis.disconnect();
      await Promise.all([server.stop(), database.drop(), rm(spool, { recursive: true, force: true })]);
    },
  };
}
