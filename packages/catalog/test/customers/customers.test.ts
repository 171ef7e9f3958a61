import { insertRows } from '@waymark/clickhouse';
import { customerSchema } from '@waymark/contract';
import { customerNameRow, NAMES_TABLE, QUEUE_TABLES } from '@waymark/event-format';
import {
  aClick,
  aCustomerRecord,
  aLead,
  aSale,
  insertLeads,
  insertSales,
  startStores,
  type TestStores,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Catalog, customerRow, generatedName } from '../../src/index.js';
import { numberOf } from '../../src/model/entity-type.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

describe('a customer of the queue', () => {
  it('is found once its rows are inserted, although an earlier look-up did not find it', async () => {
    const { workspace } = await aWorkspace(catalog);
    const record = aCustomerRecord({ workspaceId: workspace.id, linkId: 'link_0000000001F' });
    expect(await catalog.customers.findByExternalId(workspace.id, record.externalId)).toBeUndefined();
    const { table, columns } = QUEUE_TABLES.customer;
    const row = customerRow(record, 1);
    await insertRows(stores.database.client, { table, columns: columns[1], rows: [row] });
    await insertRows(stores.database.client, { ...NAMES_TABLE, rows: [customerNameRow(row)] });
    expect(await catalog.customers.findByExternalId(workspace.id, record.externalId)).toEqual(record);
    expect(await catalog.customers.get(workspace.id, record.id)).toEqual(record);
    expect(await catalog.customers.getMany(workspace.id, [record.id, 'cus_zzzzzzzzzzz'])).toEqual(
      new Map([[record.id, record]]),
    );
    const { workspace: stranger } = await aWorkspace(catalog);
    expect(await catalog.customers.findByExternalId(stranger.id, record.externalId)).toBeUndefined();
  });

  it('has its columns in the order of the queue', () => {
    const record = aCustomerRecord({ linkId: 'link_0000000001F' });
    const row = customerRow(record, 3);
    const cells = Object.fromEntries(QUEUE_TABLES.customer.columns[1].map((column, index) => [column, row[index]]));
    expect(cells).toEqual({
      workspace_id: '1',
      id: numberOf('customer', record.id),
      version: 3,
      deleted: 0,
      external_id: 'user_42',
      email: 'ada@example.com',
      country: 'FR',
      link_id: '77',
      created_at: Date.parse(record.createdAt),
      data: JSON.stringify(record),
    });
  });
});

describe('the customer object', () => {
  it('has the twelve fields of the contract, with the totals of its events', async () => {
    const { workspace } = await aWorkspace(catalog);
    const record = await catalog.customers.create(workspace.id, { externalId: 'u1', name: 'Ada', country: 'FR' });
    const click = aClick({ workspaceId: numberOf('workspace', workspace.id) });
    const customerId = numberOf('customer', record.id);
    await insertLeads(stores.database.client, [aLead({ click, customerId })]);
    const at = (hour: number) => Date.UTC(2026, 10, 3, hour);
    await insertSales(stores.database.client, [
      aSale({ click, customerId, amount: 500, timestampMs: at(9) }),
      aSale({ click, customerId, amount: 250, timestampMs: at(7) }),
    ]);
    const totals = await catalog.customers.counters(workspace.id, [record.id]);
    const customer = customerSchema.parse(catalog.customers.toCustomer(record, totals.get(record.id)));
    expect(customer).toEqual({
      id: record.id,
      externalId: 'u1',
      name: 'Ada',
      email: null,
      avatar: null,
      stripeCustomerId: null,
      country: 'FR',
      sales: 2,
      saleAmount: 750,
      createdAt: record.createdAt,
      firstSaleAt: '2026-11-03T07:00:00.000Z',
      subscriptionCanceledAt: null,
    });
  });

  it('has no time of a first sale without sales', async () => {
    const { workspace } = await aWorkspace(catalog);
    const record = await catalog.customers.create(workspace.id, { externalId: 'u2' });
    const click = aClick({ workspaceId: numberOf('workspace', workspace.id) });
    await insertLeads(stores.database.client, [aLead({ click, customerId: numberOf('customer', record.id) })]);
    const totals = (await catalog.customers.counters(workspace.id, [record.id])).get(record.id);
    expect(totals).toEqual({ sales: 0, saleAmount: 0, firstSaleAt: null });
  });

  it.each([
    [{ name: 'Ada', email: 'ada@example.com' }, 'Ada'],
    [{ name: null, email: 'ada@example.com' }, 'ada@example.com'],
    [{ name: '', email: 'ada@example.com' }, 'ada@example.com'],
  ])('of %o has the name %s', (fields, name) => {
    expect(catalog.customers.toCustomer(aCustomerRecord(fields)).name).toBe(name);
  });

  it('has a generated name that stays the same when the customer has neither name nor email', async () => {
    const record = aCustomerRecord({ name: null, email: null });
    const { name } = catalog.customers.toCustomer(record);
    expect(name).toMatch(/^[A-Z][a-z]+ [A-Z][a-z]+$/);
    expect(name).toBe(generatedName(record.id));
  });
});
