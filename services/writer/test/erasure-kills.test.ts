import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Catalog } from '@waymark/catalog';
import { environmentWith } from '@waymark/config';
import { parseResourceId } from '@waymark/contract';
import {
  aClick,
  aLead,
  aSale,
  bundleProcess,
  insertClicks,
  insertLeads,
  insertSales,
  startStores,
  storeSettings,
  type TestDatabase,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ERASING_WRITER = await bundleProcess(new URL('./erasing-writer.ts', import.meta.url));
const COUNTED = ['link_totals', 'workspace_slots', 'link_days'] as const;

let stores: TestStores;
let database: TestDatabase;
let redis: Redis;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  ({ database, client: redis } = stores);
  catalog = stores.catalog();
});
afterAll(() => stores.close());

/** Runs the step of a batch in a process of its own. @returns whether it came to its end */
async function runWriter(...writes: string[]): Promise<boolean> {
  const child = fork(ERASING_WRITER, writes, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: environmentWith(storeSettings(stores.redis, database)),
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  // As if the lease and the locks of a killed process had expired.
  await redis.flushall();
  return code === 0;
}

const rows = (query: string) => database.client.rows<string[]>({ query });

const counts = async () =>
  Promise.all(
    COUNTED.map((table) =>
      rows(
        `SELECT toString(sum(clicks)), toString(sum(leads)), toString(sum(sales)), toString(sum(sale_amount)) FROM ${table}`,
      ),
    ),
  );

it('a batch whose writer is killed after any of its writes is continued, also when late rows belong to more clicks: nothing is subtracted from the counters twice', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
  const workspaceId = parseResourceId('workspace', workspace.id) ?? '';
  const link = await catalog.links.create(workspace.id, { domain: 'localhost', key: 'try', url: 'https://acme.com/' });
  const gone = await catalog.customers.create(workspace.id, { externalId: 'gone', country: 'US' });
  const other = await catalog.customers.create(workspace.id, { externalId: 'other', country: 'US' });
  const journey = async (customer: string, amount: number) => {
    const click = aClick({ workspaceId, linkId: parseResourceId('link', link.id) ?? '' });
    const of = { click, customerId: parseResourceId('customer', customer) ?? '' };
    await insertClicks(database.client, [click]);
    await insertLeads(database.client, [aLead(of)]);
    await insertSales(database.client, [aSale({ ...of, amount })]);
  };
  await journey(other.id, 100);
  const withoutCustomer = await counts();
  await journey(gone.id, 7);
  expect(await counts()).not.toEqual(withoutCustomer);
  const subject = { externalId: 'gone', customerIds: [gone.id] };
  // The request does it, so that the batch need not.
  await catalog.customers.remove(workspace.id, gone.id);
  const { id } = await catalog.erasures.accept(workspace.id, subject, 'delete');

  // After the mark of the erasure; after that of the subtraction; between the roll-ups; after the last; after the mark of its end; after the first
  // mutation, and after the second.
  for (const [run, writes] of ['1', '2', '2', '3', '4', '1', '1'].entries()) {
    expect([run, await runWriter(writes)]).toEqual([run, false]);
    await catalog.erasures.addFound({ workspaceId: workspace.id, id }, { clickIds: [`late-${run}`] });
  }
  expect(await runWriter()).toBe(true);

  const erasure = await catalog.erasures.require(workspace.id, id);
  expect(erasure.status).toBe('processing');
  // The clicks that were found later are left to another batch.
  expect(catalog.erasures.ended(erasure, true)).toMatchObject({ status: 'accepted', batch: null });
  const ofGone = `customer_id = ${parseResourceId('customer', gone.id)}`;
  await waitFor(
    async () =>
      (await rows(`SELECT 1 FROM lead_events WHERE ${ofGone} UNION ALL SELECT 1 FROM sale_events WHERE ${ofGone}`))
        .length === 0,
    { what: 'the deletion of the events' },
  );
  expect(await counts()).toEqual(withoutCustomer);
  const mutations = await rows(
    `SELECT table, toString(count()) FROM system.mutations
    WHERE database = currentDatabase() AND position(command, 'erasure ') > 0 GROUP BY table HAVING uniqExact(mutation_id) > 1`,
  );
  expect(mutations).toEqual([]);
}, 300_000);
