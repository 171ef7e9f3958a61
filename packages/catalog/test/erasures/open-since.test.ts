import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

it('the oldest open erasure counts from its acceptance, and one that had ended from when it was continued', async () => {
  let clock = Date.now();
  const catalog = stores.catalog({ now: () => clock });
  const { erasures } = catalog;
  expect(await erasures.openSince()).toBeUndefined();
  const { workspace } = await aWorkspace(catalog);
  const accept = (externalId: string) => erasures.accept(workspace.id, { externalId, customerIds: [] }, 'anonymise');
  const ann = await accept('ann');
  clock += 1_000;
  const bob = await accept('bob');
  expect(await erasures.openSince()).toBe(Date.parse(ann.createdAt));
  // A step that fails again and again may change the record meanwhile.
  await erasures.update(workspace.id, ann.id, () => ({ status: 'processing', batch: 'a' }));
  await erasures.update(workspace.id, ann.id, () => ({ status: 'accepted', batch: null }));
  expect(await erasures.openSince()).toBe(Date.parse(ann.createdAt));
  const erasedAt = new Date(clock).toISOString();
  await erasures.update(workspace.id, ann.id, () => ({ status: 'erased', erasedAt }));
  expect(await erasures.openSince()).toBe(Date.parse(bob.createdAt));
  await erasures.update(workspace.id, bob.id, () => ({ status: 'erased', erasedAt }));
  const continued = await erasures.addFound({ workspaceId: workspace.id, id: ann.id }, { clickIds: ['a-click'] });
  expect(continued.status).toBe('accepted');
  const since = Date.parse(continued.updatedAt);
  expect(await erasures.openSince()).toBe(since);
  // Its batches may leave events again and again, and more clicks may be found.
  clock += 3_600_000;
  await erasures.update(workspace.id, ann.id, () => ({ status: 'processing', batch: 'b' }));
  await erasures.update(workspace.id, ann.id, (record) => erasures.ended(record, false));
  await erasures.addFound({ workspaceId: workspace.id, id: ann.id }, { clickIds: ['a-later-click'] });
  expect(await erasures.openSince()).toBe(since);
  await erasures.update(workspace.id, ann.id, (record) => erasures.ended(record, true));
  expect(await erasures.openSince()).toBeUndefined();
  clock += 3_600_000;
  const again = await erasures.addFound({ workspaceId: workspace.id, id: ann.id }, { clickIds: ['a-last-click'] });
  expect(await erasures.openSince()).toBe(Date.parse(again.updatedAt));
  expect(Date.parse(again.updatedAt)).toBe(since + 7_200_000);
});
