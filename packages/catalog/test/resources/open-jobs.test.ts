import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

/** Filters as long as earlier releases have accepted: answers of the embedded ClickHouse have room for those of 128 records. */
const LONG = {
  ...Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`utm_${index}`, 'x'.repeat(64_000)])),
  'a "name"': ['\\', '}', '"status":"failed"'],
};

it('open exports and schedules are listed without their filters, however long those are', async () => {
  const catalog = stores.catalog();
  const { workspace } = await aWorkspace(catalog);
  const shared = {
    ...({ resource: 'events', format: 'csv' } as const),
    ...{
      columns: ['id'],
      escapeFormulas: true,
      filters: LONG,
      keyId: 'key_1',
      hidesFolders: false,
      hidesPasswords: true,
    },
  };
  const job = await catalog.exportJobs.create(workspace.id, shared);
  await catalog.exportJobs.end(await catalog.exportJobs.begin(job), { status: 'completed', file: 'a.csv' }, 1000);
  const schedule = await catalog.exportSchedules.create(workspace.id, {
    ...shared,
    ...({ frequency: 'daily', rowsPerFile: 1, encryptedCredentials: '' } as const),
    exportedUntil: '2026-11-01T00:00:00.000Z',
    destination: {
      ...({ type: 's3', endpoint: null, region: 'eu', bucket: 'b', prefix: '', forcePathStyle: false } as const),
      accessKeyHint: 'AK "é💥\u2028',
    },
  });
  const completed = await catalog.exportJobs.require(workspace.id, job.id);
  expect(completed.filters).toEqual(LONG);
  expect((await catalog.exportJobs.listOpen()).records).toEqual([{ ...completed, filters: {} }]);
  expect((await catalog.exportSchedules.listOpen()).records).toEqual([{ ...schedule, filters: {} }]);
});

it('open imports are listed without their domains and tags, however long those are', async () => {
  const catalog = stores.catalog();
  const { workspace } = await aWorkspace(catalog);
  const job = await catalog.importJobs.create(workspace.id, {
    ...({ source: 'csv', format: 'csv', history: 'none', onConflict: 'skip' } as const),
    ...{ address: null, sourceWorkspace: null, dryRun: true, timezone: null, directory: 'd', bytes: 1 },
    domains: Array.from({ length: 1000 }, (_, index) => `${index}${'\u0001'.repeat(390)}`),
    tags: ['"name"', '],"status":"failed"'],
    ...{ keyId: 'key_1', hidesFolders: false, hidesPasswords: false },
  });
  const files = [{ name: 'rejected.csv', rows: 1, bytes: 10 }];
  await catalog.importJobs.end(await catalog.importJobs.begin(job), { status: 'completed', files }, 1000);
  const completed = await catalog.importJobs.require(workspace.id, job.id);
  expect(completed.domains).toEqual(job.domains);
  expect((await catalog.importJobs.listOpen()).records).toEqual([{ ...completed, domains: [], tags: [] }]);
});
