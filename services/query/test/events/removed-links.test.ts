import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery } from '../test-query.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery();
  await waitFor(query.catalog.isSubscribed, { what: 'the lease of the caches' });
});
afterAll(() => query.close());

test('a click that was queued before the removal of its link and stored after it is in no list and no count', async () => {
  const workspace = await aWorkspace(query);
  const [kept, removed] = [await workspace.aLink({ key: 'kept' }), await workspace.aLink({ key: 'removed' })];
  await workspace.store({ clicks: [workspace.click(kept, 1)] });
  await workspace.remove(removed);
  const counts = async () => [
    (await workspace.events({ interval: '24h' })).body.length,
    (await workspace.analytics({ interval: '24h' })).body,
    (await workspace.analytics({ interval: '24h', groupBy: 'countries' })).body,
  ];
  const before = await counts();
  expect(before[0]).toBe(1);

  const late = workspace.click(removed, 2);
  await workspace.store({ clicks: [late] });
  await query.catalog.evictTotals({ kind: 'click', batchId: 'late', rows: [JSON.stringify(late)] });
  await waitFor(async () => expect(await counts()).toEqual(before), { what: 'the counts without the late click' });
});
