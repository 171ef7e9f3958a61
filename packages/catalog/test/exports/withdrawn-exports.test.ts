import type { ExportResource } from '@waymark/contract';
import { startStores, stoppingClient, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

const anExport = (resource: ExportResource) => ({
  ...{ resource, format: 'csv' as const, columns: null, escapeFormulas: true, filters: {} },
  ...{ keyId: 'key_00000000001', hidesFolders: false, hidesPasswords: false },
});

// Each case has a workspace of its own and mostly waits, so they run at the same time.

it.concurrent.each([
  { status: 'cancelled', error: null },
  { status: 'expired', error: null },
  { status: 'failed', error: 'It took longer than a day.' },
] as const)('an export that ends while an erasure withdraws it stays as it has ended: %j', async (end) => {
  const catalog = stores.catalog();
  const { exportJobs, erasures } = catalog;
  const { workspace } = await aWorkspace(catalog);
  const job = await exportJobs.create(workspace.id, anExport('events'));
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

it.concurrent.each([
  ['events', 29, 'failed'],
  ['analytics', 29, 'failed'],
  ['customers', 29, 'failed'],
  ['events', 60, 'processing'],
  ['analytics', 60, 'processing'],
  ['customers', 60, 'processing'],
] as const)(
  'an export of %s that begins %i s after an erasure, by a clock of another machine, is %s',
  async (resource, seconds, status) => {
    const startedMs = Date.now() + seconds * 1_000;
    const catalog = stores.catalog();
    const { workspace } = await aWorkspace(catalog);
    const job = await catalog.exportJobs.create(workspace.id, anExport(resource));
    await catalog.exportJobs.begin(job);
    await catalog.exportJobs.update(workspace.id, job.id, () => ({ startedAt: new Date(startedMs).toISOString() }));
    const erasure = await catalog.erasures.accept(workspace.id, { externalId: 'ann', customerIds: [] }, 'delete');
    await catalog.exportJobs.withdraw(workspace.id, [erasure]);
    expect((await catalog.exportJobs.require(workspace.id, job.id)).status).toBe(status);
  },
);

it.concurrent.each([
  [29, true],
  [60, false],
])(
  'a job that begins %i s after a folder was hidden, by a clock of another machine, may have its links: %s',
  async (seconds, may) => {
    const catalog = stores.catalog();
    const { folders, hiddenFolders } = catalog;
    const { workspace } = await aWorkspace(catalog);
    const { id } = await folders.create(workspace.id, { name: 'Plans' });
    const { updatedAt } = await folders.update(workspace.id, id, async () => ({ accessLevel: null }));
    const since = new Date(Date.parse(updatedAt) + seconds * 1_000).toISOString();
    const member = { hidesFolders: true, hidesPasswords: true };
    expect(await hiddenFolders.anyChangedFor(workspace.id, member, since)).toBe(may);
  },
);
