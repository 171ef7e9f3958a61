import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

it('the oldest open erasure counts from its acceptance, and one that had ended from when it was continued', async () => {
  const catalog = stores.catalog();
  const { erasures } = catalog;
  expect(await erasures.openSince()).toBeUndefined();
  const { workspace } = await aWorkspace(catalog);
  const accept = (externalId: string) => erasures.accept(workspace.id, { externalId, customerIds: [] }, 'anonymise');
  const [ann, bob] = [await accept('ann'), await accept('bob')];
  expect(await erasures.openSince()).toBe(Date.parse(ann.createdAt));
  // A step that fails again and again may change the record meanwhile.
  await erasures.update(workspace.id, ann.id, () => ({ status: 'processing', batch: 'a' }));
  await erasures.update(workspace.id, ann.id, () => ({ status: 'accepted', batch: null }));
  expect(await erasures.openSince()).toBe(Date.parse(ann.createdAt));
  const erasedAt = new Date().toISOString();
  await erasures.update(workspace.id, ann.id, () => ({ status: 'erased', erasedAt }));
  expect(await erasures.openSince()).toBe(Date.parse(bob.createdAt));
  await erasures.update(workspace.id, bob.id, () => ({ status: 'erased', erasedAt }));
  const continued = await erasures.addFound({ workspaceId: workspace.id, id: ann.id }, { clickIds: ['a-click'] });
  expect(continued.status).toBe('accepted');
  expect(await erasures.openSince()).toBe(Date.parse(continued.updatedAt));
});
