import { createEventId, formatResourceId } from '@waymark/contract';
import { startStores, type TestStores, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGate } from '../store/store-gate.js';
import { aWorkspace, connected } from '../test-catalog.js';

let stores: TestStores;

beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

it('a repeated request publishes an erasure to every process, if the process that accepted it was killed before it published it', async () => {
  const catalog = await connected(stores.catalog(), stores.client);
  const { workspace } = await aWorkspace(catalog);
  const customer = await catalog.customers.create(workspace.id, { externalId: 'erased' });
  const startedMs = Date.now();
  // Its copies never expire.
  const reader = stores.catalog({ now: () => startedMs });
  await waitFor(reader.isSubscribed, { what: 'the right to use copies' });
  const modeOf = async () => (await reader.erasures.people.current())?.modeOfId(workspace.id, customer.id);
  expect(await modeOf()).toBeUndefined();

  const gate = await startGate(stores.redis.url);
  const client = new Redis(gate.url);
  client.on('error', () => undefined);
  const killed = await connected(stores.catalog({ redis: client }), stores.client);
  const subject = { externalId: 'erased', customerIds: [customer.id] };
  try {
    const isCut = new Promise<void>((resolve) => {
      gate.cutAfter((chunk) => {
        if (!chunk.includes('PUBLISH') || !chunk.includes('erasures')) return false;
        gate.set('refusing');
        resolve();
        return true;
      });
    });
    killed.erasures.accept(workspace.id, subject, 'anonymise').catch(() => undefined);
    await isCut;
    expect(await modeOf()).toBeUndefined();
    // The locks of a killed process expire.
    await stores.client.del(await stores.client.keys('waymark:lock:*'));
    const { mode } = await catalog.erasures.accept(workspace.id, subject, 'anonymise');
    expect(await modeOf()).toBe(mode);
  } finally {
    client.disconnect();
    await killed.close();
    await gate.close();
  }
});

it('a customer found while a batch runs displaces none of its clicks', async () => {
  const catalog = stores.catalog();
  const { erasures } = catalog;
  const { workspace } = await aWorkspace(catalog);
  const { id } = await erasures.accept(workspace.id, { externalId: 'ann', customerIds: [] }, 'delete');
  // More than `addFound` would add: when a batch begins, the writer adds the clicks that it finds.
  const clickIds = Array.from({ length: 10_500 }, (_none, index) => createEventId(Date.UTC(2026, 0, 1) + index));
  await erasures.update(workspace.id, id, () => ({ status: 'processing', batch: 'a', clickIds }));

  const customerIds = [formatResourceId('customer', '77')];
  const found = await erasures.addFound({ workspaceId: workspace.id, id }, { customerIds });

  expect(found.customerIds).toEqual(customerIds);
  expect(found.clickIds).toEqual(clickIds);
  expect(erasures.inBatch(found).clickIds).toEqual(clickIds);
});
