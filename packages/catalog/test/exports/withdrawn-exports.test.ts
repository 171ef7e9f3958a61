import { startStores, stoppingClient, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

it.each([
  { status: 'cancelled', error: null },
  { status: 'expired', error: null },
  { status: 'failed', error: 'It took longer than a day.' },
] as const)('an export that ends while an erasure withdraws it stays as it has ended: %j', async (end) => {
  const catalog = stores.catalog();
  const { exportJobs, erasures } = catalog;
  const { workspace } = await aWorkspace(catalog);
  const job = await exportJobs.create(workspace.id, {
    ...{ resource: 'events', format: 'csv', columns: null, escapeFormulas: true, filters: {} },
    ...{ keyId: 'key_00000000001', hidesFolders: false, hidesPasswords: false },
  });
  await exportJobs.begin(job);
  const erasure = await erasures.accept(workspace.id, { externalId: 'ann', customerIds: [] }, 'delete');
  const isSearch = (text: string) => text.startsWith('SELECT id FROM export_jobs ');
  const withdrawer = stoppingClient(stores.database.client, { statement: isSearch, isDone: true });
  const withdrawing = stores.catalog({ database: withdrawer }).exportJobs.withdraw(workspace.id, [erasure]);
  await withdrawer.stopped;
  const ended = await exportJobs.update(workspace.id, job.id, () => end);
  withdrawer.go();
  await withdrawing;
  expect(await stores.catalog().exportJobs.get(workspace.id, job.id)).toEqual(ended);
});
