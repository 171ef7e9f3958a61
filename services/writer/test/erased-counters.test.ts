import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { expireTokens } from '@waymark/event-queue';
import {
  aClick,
  aLead,
  aSale,
  insertClicks,
  insertLeads,
  insertSales,
  startStores,
  type TestDatabase,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

const COUNTED = ['link_totals', 'workspace_slots', 'link_days'] as const;

let stores: TestStores;
let database: TestDatabase;
let redis: Redis;
let catalog: Catalog;
const errors: string[] = [];
const logger = {
  ...{ debug() {}, info() {}, warn() {} },
  error: (_context: unknown, message?: unknown) => void errors.push(String(message)),
};

beforeAll(async () => {
  stores = await startStores();
  ({ database, client: redis } = stores);
  catalog = stores.catalog();
});
beforeEach(async () => {
  errors.length = 0;
  await setTokenWindow(10_000);
});
afterAll(() => stores.close());

/** With 0, ClickHouse drops all tokens and accepts repeated inserts, as it does after many others. */
async function setTokenWindow(blocks: number): Promise<void> {
  for (const table of COUNTED) {
    const query = `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = ${blocks}`;
    await database.client.command({ query });
  }
}

/** The client of the database with other methods. */
const clientWith = (methods: Partial<ClickHouseClient>): ClickHouseClient =>
  Object.assign(Object.create(database.client) as ClickHouseClient, methods);

const erasuresWith = (clickhouse: ClickHouseClient) =>
  startErasures({
    ...{ catalog, redis, clickhouse, logger, lateRows: lateRowsOf(catalog), cluster: undefined },
    ...{ queueShards: [redis], gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
  });

/** A click, a lead and a sale of a customer whose erasure is accepted, and those of another customer of the link. */
async function anErasure(name: string) {
  const { workspace } = await catalog.workspaces.create({ name, slug: name, plan: 'enterprise' });
  const workspaceId = parseResourceId('workspace', workspace.id) ?? '';
  const link = await catalog.links.create(workspace.id, { domain: 'localhost', key: name, url: 'https://acme.com/' });
  const journey = async (customer: string) => {
    const click = aClick({ workspaceId, linkId: parseResourceId('link', link.id) ?? '' });
    const of = { click, customerId: parseResourceId('customer', customer) ?? '' };
    await insertClicks(database.client, [click]);
    await insertLeads(database.client, [aLead(of)]);
    await insertSales(database.client, [aSale(of)]);
  };
  const gone = await catalog.customers.create(workspace.id, { externalId: 'gone', country: 'US' });
  const other = await catalog.customers.create(workspace.id, { externalId: 'other', country: 'US' });
  await journey(gone.id);
  await journey(other.id);
  const subject = { externalId: 'gone', customerIds: [gone.id] };
  const { id } = await catalog.erasures.accept(workspace.id, subject, 'delete');
  onTestFinished(async () => {
    await catalog.erasures.update(workspace.id, id, () => ({ status: 'erased' }));
  });
  /** The clicks, leads and sales that each table has counted. */
  const counts = async () =>
    Promise.all(
      COUNTED.map(async (table) => {
        const query = `SELECT toString(sum(clicks)), toString(sum(leads)), toString(sum(sales)) FROM ${table} WHERE workspace_id = {workspaceId:UInt64}`;
        const [row] = await database.client.rows<string[]>({ query, parameters: { workspaceId } });
        return row?.join();
      }),
    );
  const isDeleted = async () => {
    const query = 'SELECT 1 FROM sale_events WHERE customer_id = {customer:UInt64}';
    const customer = parseResourceId('customer', gone.id);
    return (await database.client.rows({ query, parameters: { customer } })).length === 0;
  };
  return { counts, isDeleted, status: async () => (await catalog.erasures.require(workspace.id, id)).status };
}

it('the counters are changed once, although ClickHouse refuses the mutations until it has dropped the tokens', async () => {
  const { counts, isDeleted, status } = await anErasure('refused');
  let isRefused = true;
  const command: ClickHouseClient['command'] = (request) =>
    isRefused && request.query.startsWith('ALTER TABLE')
      ? Promise.reject(new Error('refused'))
      : database.client.command(request);
  const erasures = erasuresWith(clientWith({ command }));
  const changed = ['1,1,1', '1,1,1', '1,1,1'];
  expect(await counts()).toEqual(['2,2,2', '2,2,2', '2,2,2']);
  await erasures.run();
  expect(await counts()).toEqual(changed);
  await setTokenWindow(0);
  await expireTokens(redis);
  await erasures.run();
  expect([await counts(), await status()]).toEqual([changed, 'processing']);
  expect(errors).toEqual(Array(2).fill('erasures could not be continued; retrying'));

  isRefused = false;
  await erasures.run();
  await waitFor(isDeleted, { what: 'the mutations' });
  await erasures.run();
  await erasures.close();
  expect(await counts()).toEqual(changed);
});

it('an insert into the counters with an unknown outcome is not repeated once ClickHouse may have dropped its token', async () => {
  const { counts, isDeleted } = await anErasure('unknown');
  const insert: ClickHouseClient['insert'] = async (request) => {
    await database.client.insert(request);
    throw new Error('the answer is lost');
  };
  const interrupted = erasuresWith(clientWith({ insert }));
  await interrupted.run();
  await interrupted.close();
  const asLeft = ['1,1,1', '2,2,2', '2,2,2'];
  expect(await counts()).toEqual(asLeft);
  await setTokenWindow(0);
  await expireTokens(redis);
  const erasures = erasuresWith(database.client);
  await erasures.run();
  expect(await counts()).toEqual(asLeft);
  expect(errors.at(-1)).toContain('may still count the deleted events');
  await waitFor(isDeleted, { what: 'the mutations' });
  await erasures.run();
  await erasures.close();
  expect(await counts()).toEqual(asLeft);
});
