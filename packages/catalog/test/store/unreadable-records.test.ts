import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Catalog, isUnreadable } from '../../src/index.js';
import { aWorkspace, wipeCaches } from '../test-catalog.js';

let stores: TestStores;
/** Makes records that {@link replaceIn} changes. */
let later: Catalog;

beforeAll(async () => {
  stores = await startStores();
  later = stores.catalog();
});
afterAll(() => stores.close());

/** Replaces a text in a stored record by one that the schema of this release does not allow, as a process of a later release would store it. */
async function replaceIn(table: string, { id }: { readonly id: string }, text: string, by: string): Promise<void> {
  await stores.database.client.command({
    query: `INSERT INTO ${table} SELECT * REPLACE (version + 1 AS version, replaceOne(data, {text:String}, {by:String}) AS data)
FROM ${table} FINAL WHERE JSONExtractString(data, 'id') = {id:String}`,
    query_params: { text, by, id },
  });
  await wipeCaches(stores.client);
}

const LINE = 'a record cannot be read, and is left out';
const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);

const aHook = (url: string) => ({ name: 'Hook', url, triggers: ['lead.created'] });

it('a webhook that cannot be read is left out of those of all workspaces, and logged once', async () => {
  const [one, two] = [await aWorkspace(later), await aWorkspace(later)];
  const [bad, good] = [
    await later.webhooks.create(one.workspace.id, aHook('https://bad.example/')),
    await later.webhooks.create(one.workspace.id, aHook('https://good.example/')),
  ];
  const other = await later.webhooks.create(two.workspace.id, aHook('https://other.example/'));
  await replaceIn('webhooks', bad, '"linkScope":null', '"linkScope":"later"');
  const catalog = stores.catalog();
  stores.warnings.length = 0;
  const active = await Promise.all([one, two].map(({ workspace }) => catalog.webhooks.active(workspace.id)));
  expect(active.map(idsOf)).toEqual([[good.id], [other.id]]);
  await catalog.webhooks.active(one.workspace.id);
  expect(stores.warnings.filter((line) => line === LINE)).toHaveLength(1);
  // A read of the record itself fails with the error, which has names of fields and no values.
  const asked = await catalog.webhooks.get(one.workspace.id, bad.id).catch((err: unknown) => err);
  expect(isUnreadable(asked)).toBe(true);
  expect((asked as Error).cause).toMatchObject({ message: 'a record of webhooks cannot be read: linkScope' });
  expect(await catalog.webhooks.get(one.workspace.id, good.id)).toMatchObject({ id: good.id });
});

it('a trigger of a later release matches nothing, and changes keep it', async () => {
  const { workspace } = await aWorkspace(later);
  const triggers = ['lead.created', 'lead.qualified'];
  const { id } = await later.webhooks.create(workspace.id, { ...aHook('https://hook.example/'), triggers });
  const catalog = stores.catalog();
  expect((await catalog.webhooks.active(workspace.id))[0]?.triggers).toEqual(triggers);
  await catalog.webhooks.update(workspace.id, id, () => ({ name: 'Other' }));
  expect(await stores.catalog().webhooks.get(workspace.id, id)).toMatchObject({ name: 'Other', triggers });
});

it('jobs and schedules that cannot be read are listed apart from the open ones of all workspaces', async () => {
  const [one, two] = [await aWorkspace(later), await aWorkspace(later)];
  const anExport: Parameters<Catalog['exportJobs']['create']>[1] = {
    ...{ resource: 'links', format: 'csv', columns: null, escapeFormulas: false, filters: {}, keyId: 'key_1' },
    ...{ hidesFolders: false, hidesPasswords: false },
  };
  const anImport: Parameters<Catalog['importJobs']['create']>[1] = {
    ...{ source: 'bitly', format: null, address: null, sourceWorkspace: null, domains: [], dryRun: false, tags: [] },
    ...{ history: 'none', onConflict: 'skip', timezone: null, directory: 'd', bytes: null, keyId: 'key_1' },
    ...{ hidesFolders: false, hidesPasswords: false },
  };
  const aSchedule: object & Parameters<Catalog['exportSchedules']['create']>[1] = {
    ...{ resource: 'events', frequency: 'daily', format: 'csv', columns: null, escapeFormulas: false, filters: {} },
    ...{ rowsPerFile: 1, encryptedCredentials: '', exportedUntil: '2026-11-01T00:00:00.000Z', keyId: 'key_1' },
    ...{ hidesFolders: false, hidesPasswords: false },
    destination: {
      ...{ type: 's3', endpoint: null, region: 'eu', bucket: 'b', prefix: '', forcePathStyle: false },
      ...{ accessKeyHint: 'AK', storageClass: 'of a later release' },
    },
  };
  const [bad, good] = [one.workspace.id, two.workspace.id];
  const made = {
    exportJobs: [await later.exportJobs.create(bad, anExport), await later.exportJobs.create(good, anExport)],
    importJobs: [await later.importJobs.create(bad, anImport), await later.importJobs.create(good, anImport)],
    exportSchedules: [
      await later.exportSchedules.create(bad, aSchedule),
      await later.exportSchedules.create(good, aSchedule),
    ],
  };
  const [anyExport, anyImport, anySchedule] = [made.exportJobs[0], made.importJobs[0], made.exportSchedules[0]];
  if (anyExport) await replaceIn('export_jobs', anyExport, '"csv"', '"xlsx"');
  if (anyImport) await replaceIn('import_jobs', anyImport, '"bitly"', '"later"');
  if (anySchedule) await replaceIn('export_schedules', anySchedule, '"daily"', '"yearly"');
  const catalog = stores.catalog();
  for (const kind of ['exportJobs', 'importJobs', 'exportSchedules'] as const) {
    const { records, unreadable } = await catalog[kind].listOpen();
    const [broken, open] = idsOf(made[kind]);
    expect([idsOf(records), unreadable]).toEqual([[open], [broken]]);
  }
});

it('an erasure that cannot be read stops the batches of erasures, but one with fields of a later release does not', async () => {
  const { workspace } = await aWorkspace(later);
  const accept = (externalId: string) => later.erasures.accept(workspace.id, { externalId, customerIds: [] }, 'delete');
  const [begun, waiting] = [await accept('ann'), await accept('bob')];
  const subtraction = { batch: 'b', isDone: true, groups: [], inserts: [], addedLater: 1 };
  await later.erasures.update(workspace.id, begun.id, () => ({ status: 'processing', batch: 'b', subtraction }));
  const { erasures } = stores.catalog();
  expect((await erasures.begun())[0]?.subtraction).toEqual(subtraction);
  expect(idsOf(await erasures.waiting({ erasures: 10, ids: 10 }))).toEqual([waiting.id]);
  await replaceIn('erasures', begun, '"delete"', '"later"');
  await replaceIn('erasures', waiting, '"delete"', '"later"');
  await expect(erasures.begun()).rejects.toSatisfy(isUnreadable);
  await expect(erasures.waiting({ erasures: 10, ids: 10 })).rejects.toSatisfy(isUnreadable);
});
