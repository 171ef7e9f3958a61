import { join } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { createEventProducer, createHistoryKeeper, historyKey } from '@waymark/event-queue';
import { createLogger } from '@waymark/http-kit';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTrackApp } from '../../src/index.js';
import { createHistorySources } from '../../src/track/history/history-sources.js';
import { startIngest, type TestIngest } from '../test-ingest.js';

// With complete claim histories, leads and sales need ClickHouse only for what it may have; and never make anything twice.

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
let ingest: TestIngest;
/** A ClickHouse that cannot be reached, and a catalog that has only it and Redis. */
let away: ClickHouseClient;
let catalogWithoutClickHouse: Catalog;
let clickId: string;
let histories: ReturnType<typeof createHistoryKeeper>;

let app: ReturnType<typeof buildTrackApp>;

const track = (path: string, body: object) =>
  app.inject({
    method: 'POST',
    url: path,
    headers: { authorization: `Bearer ${ingest.token}` },
    payload: { clickId, ...body },
  });
const trackWithoutClickHouse = (path: string, body: object) =>
  ingest.postTo({ histories, clickhouse: away, catalog: catalogWithoutClickHouse }, path, { clickId, ...body });
const lead = (customerExternalId: string, eventName = 'Sign up') => ({ customerExternalId, eventName });
const sale = (customerExternalId: string, invoiceId: string) => ({ customerExternalId, amount: 100, invoiceId });

/** What days do: nothing of these events is in Redis any more but the histories. */
async function forgetClaims(): Promise<void> {
  const keys = await ingest.redisClient.keys('{waymark}:claim:*');
  const states = await ingest.redisClient.keys('{waymark}:state:lead:*');
  if (keys.length + states.length > 0) await ingest.redisClient.del(...keys, ...states);
}

const customersOf = async (externalId: string) => {
  const rows = await ingest.rows('customers', 'external_id = {id:String}', { id: externalId });
  return new Set(rows.map(({ id }) => id)).size;
};

async function untilComplete(): Promise<void> {
  for (const subject of ['customers', 'sales'] as const) {
    const header = () => ingest.redisClient.getrange(historyKey(subject, ingest.workspaceId), 0, 2);
    await waitFor(async () => (await header()) === '1|C', { what: `the history of ${subject}` });
  }
}

beforeAll(async () => {
  ingest = await startIngest();
  away = createClickHouseClient({ url: 'http://127.0.0.1:9', database: 'none' });
  catalogWithoutClickHouse = createCatalog({
    ...{ redis: ingest.redisClient, clickhouse: away, instanceKey: Buffer.alloc(32, 7), now: Date.now },
    ...{ logger: SILENT, baseUrl: 'http://api.test' },
  });
  clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  histories = createHistoryKeeper({
    ...{ redis: ingest.redisClient, sources: createHistorySources(ingest.clickhouse), logger: SILENT, now: Date.now },
    ...{ graceMs: 0, pollMs: 5 },
  });
  const logger = createLogger({ name: 'test', level: 'silent' });
  app = buildTrackApp({ logger, docBase: 'http://api.test/docs', trustedProxies: [] }, { ...ingest.deps, histories });
  await ingest.rowsWhen(1, 'click_events');
  for (const [path, body] of [
    ['/track/lead', lead('old')],
    ['/track/sale', sale('old', 'in_old')],
  ] as const) {
    const answer = await ingest.postTo({ histories: { note: () => undefined } }, path, { clickId, ...body });
    expect(answer.statusCode).toBe(200);
  }
  await ingest.catalog.customers.create(ingest.workspaceId, { externalId: 'made before' });
  await ingest.rowsWhen(1, 'sale_events');
  await ingest.rowsWhen(2, 'customers');
  expect(await ingest.redisClient.keys('*claim-history*')).toEqual([]);
  await forgetClaims();
  for (const subject of ['customers', 'sales'] as const) histories.note(subject, ingest.workspaceId);
  await untilComplete();
}, 60_000);
afterAll(async () => {
  await app.close();
  await histories.close();
  await catalogWithoutClickHouse.close();
  await away.close();
  await ingest.stop();
});

describe('without ClickHouse', () => {
  it.each([
    ['a lead of a new customer', '/track/lead', lead('new 1')],
    ['another lead of a customer', '/track/lead', lead('new 1', 'Demo')],
    ['a repeated lead', '/track/lead', lead('new 1')],
    ['the first sale of a customer', '/track/sale', sale('new 1', 'in_1')],
    ['another sale of a customer', '/track/sale', sale('new 1', 'in_2')],
    ['a repeated sale', '/track/sale', sale('new 1', 'in_2')],
    ['a direct sale of a new customer', '/track/sale', sale('new 2', 'in_3')],
    [
      'a sale of an unknown customer without a click',
      '/track/sale',
      { ...sale('unknown', 'in_4'), clickId: undefined },
    ],
  ])('%s is answered', async (_what, path, body) => {
    const answer = await trackWithoutClickHouse(path, body);
    expect([answer.statusCode, answer.body]).toEqual([200, expect.any(String)]);
  });

  it('and what was tracked is stored once', async () => {
    expect(
      await ingest.rowsWhen(
        2,
        'lead_events',
        "event_name IN ('Sign up', 'Demo') AND customer_id IN (SELECT id FROM customers WHERE external_id = 'new 1')",
      ),
    ).toHaveLength(2);
    const sales = await ingest.rowsWhen(3, 'sale_events', "invoice_id IN ('in_1', 'in_2', 'in_3', 'in_4')");
    expect(sales.map((row) => [row.invoice_id, row.sale_type]).sort()).toEqual([
      ['in_1', 'new'],
      ['in_2', 'recurring'],
      ['in_3', 'new'],
    ]);
  });
});

describe('long after', () => {
  it.each(['old', 'made before'])('a lead of %s is not of a new customer', async (externalId) => {
    await forgetClaims();
    expect((await trackWithoutClickHouse('/track/lead', lead(externalId, 'Later'))).statusCode).toBe(500);
    expect((await track('/track/lead', lead(externalId, 'Later'))).statusCode).toBe(200);
    expect((await track('/track/sale', sale(externalId, `later of ${externalId}`))).statusCode).toBe(200);
    await ingest.rowsWhen(1, 'sale_events', 'invoice_id = {id:String}', { id: `later of ${externalId}` });
    expect(await customersOf(externalId)).toBe(1);
  });

  it('a repeated invoice is answered with its sale, and recorded no second time', async () => {
    await forgetClaims();
    const answer = await track('/track/sale', { ...sale('old', 'in_old'), amount: 999 });
    expect(answer.json()).toMatchObject({
      customer: { externalId: 'old' },
      sale: { amount: 100, invoiceId: 'in_old' },
    });
    await ingest.stopWriter();
    expect((await ingest.rows('sale_events', "invoice_id = 'in_old'")).length).toBe(1);
    expect(await ingest.redisClient.llen('{waymark}:sale:wait')).toBe(0);
    ingest.startWriter();
  });

  it('a sale of a customer who has bought on the link is recurring', async () => {
    await forgetClaims();
    expect((await track('/track/sale', sale('old', 'in_recurring'))).statusCode).toBe(200);
    const [row] = await ingest.rowsWhen(1, 'sale_events', "invoice_id = 'in_recurring'");
    expect(row?.sale_type).toBe('recurring');
  });

  it('customers that management made or renamed since are known', async () => {
    const { catalog, workspaceId } = ingest;
    const { id } = await catalog.customers.create(workspaceId, { externalId: 'made since' });
    const renamed = await catalog.customers.create(workspaceId, { externalId: 'renamed from' });
    await catalog.customers.update(workspaceId, renamed.id, () => ({ externalId: 'renamed to' }));
    for (const [externalId, known] of [
      ['made since', id],
      ['renamed to', renamed.id],
    ] as const) {
      expect((await trackWithoutClickHouse('/track/lead', lead(externalId))).statusCode).toBe(500);
      expect((await track('/track/lead', lead(externalId))).statusCode).toBe(200);
      expect((await catalog.customers.findByExternalId(workspaceId, externalId))?.id).toBe(known);
    }
  });
});

it('leads and direct sales of one new customer at the same moment, through two processes, make one customer', async () => {
  await ingest.redisClient.ping();
  const producer = createEventProducer({
    redisUrl: ingest.redis.url,
    spoolDirectory: join(temporaryDirectory('waymark-second-'), 'spool'),
    logger: SILENT,
  });
  await waitFor(() => producer.ping().then(() => true), { what: 'the second producer' });
  try {
    const names = Array.from({ length: 10 }, (_none, number) => `both ${number}`);
    const answers = await Promise.all(
      names.flatMap((name) => [
        track('/track/lead', lead(name)),
        track('/track/sale', sale(name, `first of ${name}`)),
        ingest.postTo({ histories, producer }, '/track/lead', { clickId, ...lead(name) }),
        ingest.postTo({ histories, producer }, '/track/sale', { clickId, ...sale(name, `first of ${name}`) }),
      ]),
    );
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    const sales = await ingest.rowsWhen(10, 'sale_events', "invoice_id LIKE 'first of both%'");
    expect(new Set(sales.map(({ customer_id: customer }) => customer)).size).toBe(10);
    await ingest.rowsWhen(10, 'customers', "external_id LIKE 'both %'");
    for (const name of names) expect(await customersOf(name)).toBe(1);
  } finally {
    await producer.close();
  }
});

it('deleting the histories at any moment loses nothing', async () => {
  const names = Array.from({ length: 30 }, (_none, number) => `lost ${number}`);
  await Promise.all(
    names.map(async (name, number) => {
      if (number % 5 === 0) await ingest.redisClient.del(historyKey('customers', ingest.workspaceId));
      const answer = await track('/track/lead', lead(name));
      expect([answer.statusCode, answer.body]).toEqual([200, expect.any(String)]);
    }),
  );
  await ingest.rowsWhen(names.length, 'customers', "external_id LIKE 'lost %'");
  for (const name of names) expect(await customersOf(name)).toBe(1);
});
