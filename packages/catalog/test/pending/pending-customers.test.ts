import { randomUUID } from 'node:crypto';
import { insertRows } from '@waymark/clickhouse';
import type { SortOrder } from '@waymark/contract';
import {
  aClick,
  addPendingCustomer,
  aSale,
  insertSales,
  startStores,
  startTcpProxy,
  stoppingClient,
  type TestStores,
  writePendingCustomer,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CustomerFilters } from '../../src/customers/customer-rules.js';
import { type Catalog, type CustomerRecord, draftCustomer, type NewCustomer } from '../../src/index.js';
import { numberOf, recordColumns, recordRow } from '../../src/model/entity-type.js';
import { customerType } from '../../src/model/entity-types.js';
import { startGate } from '../store/store-gate.js';
import { aWorkspace, connected, wipeCaches } from '../test-catalog.js';

/** Customers of events whose rows the writer has not inserted yet: reads return them as if it had. */

let stores: TestStores;
let catalog: Catalog;
let workspaceId: string;

beforeAll(async () => {
  stores = await startStores();
  catalog = await connected(stores.catalog(), stores.client);
  workspaceId = (await aWorkspace(catalog)).workspace.id;
});
afterAll(() => stores.close());

const draft = (externalId: string, fields: Partial<NewCustomer> = {}, workspace = workspaceId) =>
  draftCustomer(workspace, { externalId, name: 'Ada', email: `${externalId}@acme.com`, ...fields }, Date.now());

async function aPendingCustomer(externalId: string, fields: Partial<NewCustomer> = {}): Promise<CustomerRecord> {
  const record = draft(externalId, fields);
  await addPendingCustomer(stores.client, record);
  return record;
}

const write = (record: CustomerRecord) => writePendingCustomer(stores.database.client, record);
const everyone = { sortBy: 'createdAt', sortOrder: 'desc', page: 1, pageSize: 100 } as const;
const listed = async (filters: CustomerFilters, of: string = workspaceId) =>
  (await catalog.customers.list(of, { ...everyone, filters })).map(({ externalId }) => externalId);

describe('one customer', () => {
  it('is found by its id and its external id in its own workspace only, both while pending and afterwards', async () => {
    const stranger = (await aWorkspace(catalog)).workspace.id;
    const record = await aPendingCustomer('one');
    const other = stores.catalog();
    const expectFound = async (reader: Catalog) => {
      expect(await reader.customers.get(workspaceId, record.id)).toEqual(record);
      expect(await reader.customers.getMany(workspaceId, [record.id])).toEqual(new Map([[record.id, record]]));
      expect(await reader.customers.findByExternalId(workspaceId, 'one')).toEqual(record);
      expect(await reader.customers.findByExternalId(stranger, 'one')).toBeUndefined();
      expect(await reader.customers.get(stranger, record.id)).toBeUndefined();
    };
    await expectFound(catalog);
    await expectFound(other);
    await write(record);
    await wipeCaches(stores.client);
    await expectFound(stores.catalog());
  });

  it('keeps its external id from being taken by another customer', async () => {
    await aPendingCustomer('taken');
    await expect(catalog.customers.create(workspaceId, { externalId: 'taken' })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('can be changed at once, and the later insert of the writer does not undo the change', async () => {
    const record = await aPendingCustomer('changed');
    const renamed = await aPendingCustomer('before');
    const updated = await catalog.customers.update(workspaceId, record.id, () => ({ email: 'new@acme.com' }));
    await catalog.customers.update(workspaceId, renamed.id, () => ({ externalId: 'after' }));
    const expectChanged = async (reader: Catalog) => {
      expect(await reader.customers.get(workspaceId, record.id)).toEqual(updated);
      expect(await reader.customers.findByExternalId(workspaceId, 'changed')).toEqual(updated);
      expect((await reader.customers.findByExternalId(workspaceId, 'after'))?.id).toBe(renamed.id);
      expect(await reader.customers.findByExternalId(workspaceId, 'before')).toBeUndefined();
      expect(await listed({ email: 'changed@acme.com' })).toEqual([]);
      expect(await listed({ email: 'new@acme.com' })).toEqual(['changed']);
      expect(await listed({ externalId: 'before' })).toEqual([]);
    };
    await expectChanged(stores.catalog());
    await Promise.all([write(record), write(renamed)]);
    await wipeCaches(stores.client);
    await expectChanged(stores.catalog());
  });

  it('can be removed at once, which frees its external id, and the later insert of the writer does not restore it', async () => {
    const record = await aPendingCustomer('removed');
    await catalog.customers.remove(workspaceId, record.id);
    const expectGone = async (reader: Catalog) => {
      expect(await reader.customers.get(workspaceId, record.id)).toBeUndefined();
      expect(await reader.customers.findByExternalId(workspaceId, 'removed')).toBeUndefined();
      expect(await listed({ externalId: 'removed' })).toEqual([]);
    };
    await expectGone(stores.catalog());
    await write(record);
    await wipeCaches(stores.client);
    await expectGone(stores.catalog());
    await catalog.customers.create(workspaceId, { externalId: 'removed' });
  });
});

describe('a list', () => {
  it('is the same before and after the writer has inserted the customers: every filter, sort, page and cursor', async () => {
    const own = (await aWorkspace(catalog)).workspace.id;
    const records = Array.from({ length: 24 }, (_none, index) =>
      draft(
        `c${index}`,
        {
          ...{
            name: index % 4 === 0 ? 'Zoë "Z" O\'Neil\\' : `Name ${index % 5}`,
            country: index % 3 === 0 ? 'FR' : 'US',
          },
          ...{ linkId: index % 2 === 0 ? 'link_0000000001F' : null, partnerId: index % 5 === 0 ? 'pn_1' : null },
          programId: index % 7 === 0 ? 'prog_1' : null,
          avatar: '"'.repeat(5),
        },
        own,
      ),
    );
    const click = aClick({ workspaceId: numberOf('workspace', own) });
    const sales = records.map(({ id }, index) =>
      aSale({ click, customerId: numberOf('customer', id), amount: index % 6 }),
    );
    await insertSales(stores.database.client, sales);
    for (const [index, record] of records.entries()) {
      if (index % 3 === 1) await write(record);
      else await addPendingCustomer(stores.client, record);
    }

    const filters: CustomerFilters[] = [
      ...[{}, { email: 'c3@acme.com' }, { externalId: 'c4' }, { search: 'zoë' }, { search: "O'NEIL\\" }],
      ...[{ search: 'c5@acme.com' }, { search: 'C1' }, { country: 'FR' }, { linkId: 'link_0000000001F' }],
      ...[{ partnerId: 'pn_1' }, { programId: 'prog_1' }, { country: 'US', linkId: 'link_0000000001F' }],
      ...[{ search: 'nobody' }, { email: 'a\0' }],
    ];
    const pages = (['createdAt', 'saleAmount', 'firstSaleAt', 'subscriptionCanceledAt'] as const).flatMap((sortBy) =>
      (['asc', 'desc'] as SortOrder[]).map((sortOrder) => ({ sortBy, sortOrder, page: 2, pageSize: 9 })),
    );
    const cursors = (['after', 'before'] as const).flatMap((side) =>
      (['asc', 'desc'] as SortOrder[]).map((order) => ({ order, limit: 100, id: records[12]?.id ?? '', side })),
    );
    const lists = async () => {
      const answers: CustomerRecord[][] = [];
      for (const one of filters) answers.push(await catalog.customers.list(own, { ...everyone, filters: one }));
      for (const page of pages) answers.push(await catalog.customers.list(own, { ...page, filters: {} }));
      for (const cursor of cursors) answers.push(await catalog.customers.listFrom(own, {}, cursor));
      return answers;
    };
    const before = await lists();
    expect(before[0]?.length).toBe(24);
    for (const [index, record] of records.entries()) if (index % 3 !== 1) await write(record);
    // The rows are inserted, and the customers not yet removed from the pending index: each is listed once.
    expect(await lists()).toEqual(before);
    const keys = await stores.client.keys(`*pending-customer*:${numberOf('workspace', own)}`);
    expect(await stores.client.del(keys)).toBe(2);
    expect(await lists()).toEqual(before);
  });

  it('has pending customers whose records are large', async () => {
    const own = (await aWorkspace(catalog)).workspace.id;
    const records = Array.from({ length: 16 }, (_none, index) =>
      draft(`c${index}`, { avatar: '"'.repeat(50_000) }, own),
    );
    for (const record of records) await addPendingCustomer(stores.client, record);
    const list = () => catalog.customers.list(own, { ...everyone, filters: { search: 'ada' } });
    const before = await list();
    expect(new Set(before)).toEqual(new Set(records));
    for (const record of records) await write(record);
    expect(await list()).toEqual(before);
  });

  it('has pending customers in their places, even if the workspace has more rows than are read for a page', async () => {
    const own = (await aWorkspace(catalog)).workspace.id;
    const records = Array.from({ length: 420 }, (_none, index) =>
      draftCustomer(own, { externalId: `place-${index}` }, Date.now() - 1_000_000 + index),
    );
    const isPending = (_record: CustomerRecord, index: number) => index % 40 === 2;
    // Reads look first among two rows for each record of the page. With four versions of each record, later pages need further rows.
    const written = records.filter((record, index) => !isPending(record, index));
    await insertRows(stores.database.client, {
      table: 'customers',
      columns: recordColumns(customerType),
      rows: [1, 2, 3, 4].flatMap((version) => written.map((record) => recordRow(customerType, { record, version }))),
      settings: { optimize_on_insert: 0 },
    });
    await Promise.all(records.filter(isPending).map((record) => addPendingCustomer(stores.client, record)));
    for (const sortOrder of ['asc', 'desc'] as const) {
      const all = records.map(({ externalId }) => externalId);
      const expected = sortOrder === 'asc' ? all : all.reverse();
      for (const page of [1, 2, 23, 24, 60, 61]) {
        const found = await catalog.customers.list(own, { ...everyone, filters: {}, sortOrder, page, pageSize: 7 });
        expect(found.map(({ externalId }) => externalId)).toEqual(expected.slice(7 * page - 7, 7 * page));
      }
    }
  });

  it('is refused rather than incomplete when too many customers are pending; one customer is found nevertheless', async () => {
    const own = (await aWorkspace(catalog)).workspace.id;
    const records = Array.from({ length: 1001 }, (_none, index) => draft(`many-${index}`, {}, own));
    await Promise.all(records.map((record) => addPendingCustomer(stores.client, record)));
    await expect(listed({}, own)).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 1 });
    expect(await catalog.customers.findByExternalId(own, 'many-1000')).toEqual(records[1000]);
    await stores.client.hdel(
      `{waymark}:state:pending-customers:${numberOf('workspace', own)}`,
      numberOf('customer', records[0]?.id ?? ''),
    );
    expect(await listed({ externalId: 'many-500' }, own)).toEqual(['many-500']);
    expect(await listed({}, own)).toHaveLength(100);
  });
});

it('reads of a queue shard do not wait for those of another one that does not answer', async () => {
  const gate = await startGate(stores.redis.url);
  const client = new Redis(gate.url, { lazyConnect: true });
  client.on('error', () => undefined);
  gate.set('hanging');
  const reader = await connected(stores.catalog({ otherQueueShards: [client] }), stores.client);
  const made = await Promise.all(
    Array.from({ length: 4 }, (_, index) =>
      reader.workspaces.create({ name: 'Acme', slug: `hanging-${index}`, plan: 'enterprise', queueShard: 1 }),
    ),
  );
  const record = await aPendingCustomer('healthy');
  const hanging = made.map(async ({ workspace: { id } }) => {
    await reader.customers.isPending(id, draft('hanging', {}, id).id).catch(() => undefined);
    return 'hanging';
  });
  const healthy = reader.customers.isPending(workspaceId, record.id);
  expect(await Promise.race([healthy, ...hanging])).toBe(true);
  await Promise.all(hanging);
  client.disconnect();
  await gate.close();
});

describe('while Redis is unavailable', () => {
  it('inserted customers are found; others answer an error, unless their id is too old to be pending', async () => {
    const proxy = await startTcpProxy(Number(new URL(stores.redis.url).port));
    const client = new Redis(`redis://127.0.0.1:${proxy.port}`);
    client.on('error', () => undefined);
    const reader = await connected(stores.catalog({ redis: client }), stores.client);
    const written = draft('written');
    await write(written);
    const queued = await aPendingCustomer('queued');
    const away = { code: 'internal_server_error', retryAfterSeconds: 1 };
    await proxy.stop();
    expect(await reader.customers.findByExternalId(workspaceId, 'written')).toEqual(written);
    expect(await reader.customers.get(workspaceId, written.id)).toEqual(written);
    expect(await reader.customers.get(workspaceId, 'cus_0000000009Z')).toBeUndefined();
    const refused = [
      reader.customers.get(workspaceId, queued.id),
      reader.customers.findByExternalId(workspaceId, 'queued'),
      reader.customers.list(workspaceId, { ...everyone, filters: {} }),
    ];
    await Promise.all(refused.map((read) => expect(read).rejects.toMatchObject(away)));
    client.disconnect();
  });
});

describe('a customer that is inserted during a read', () => {
  const byId = (reader: Catalog, { id }: CustomerRecord) => reader.customers.get(workspaceId, id);
  const byExternalId = (reader: Catalog, { externalId }: CustomerRecord) =>
    reader.customers.findByExternalId(workspaceId, externalId);
  const inList = async (reader: Catalog, { externalId }: CustomerRecord) =>
    (await reader.customers.list(workspaceId, { ...everyone, filters: { externalId } }))[0];

  it.each([
    ['before its row is looked for by its id', byId, /FROM customers\b/, false],
    ['after its row is looked for by its id', byId, /FROM customers\b/, true],
    ['before its row is looked for by its external id', byExternalId, /FROM names\b/, false],
    ['after its row is looked for by its external id', byExternalId, /FROM names\b/, true],
    ['before a list leaves out pending ones that have a row', inList, /NOT IN \(SELECT id FROM customers\b/, false],
    ['after a list leaves out pending ones that have a row', inList, /NOT IN \(SELECT id FROM customers\b/, true],
    ['before its row is looked for in a list', inList, /FROM customers AS record FINAL/, false],
    ['after its row is looked for in a list', inList, /FROM customers AS record FINAL/, true],
  ] as const)('is found, %s', async (_when, read, text, isDone) => {
    let isConnected = false;
    const statement = (query: string) => isConnected && text.test(query);
    const { client, stopped, go } = stoppingClient(stores.database.client, { statement, isDone });
    const reader = await connected(stores.catalog({ database: { client } }), stores.client);
    isConnected = true;
    const record = await aPendingCustomer(`race-${randomUUID()}`);
    const reading = read(reader, record);
    await stopped;
    await write(record);
    const keys = await stores.client.keys(`*pending-customer*:${numberOf('workspace', workspaceId)}`);
    expect(await stores.client.del(keys)).toBe(2);
    go();
    expect(await reading).toEqual(record);
    await reader.close();
  });
});
