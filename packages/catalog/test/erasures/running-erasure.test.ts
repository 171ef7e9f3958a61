import { createEventId, formatResourceId } from '@waymark/contract';
import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

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
