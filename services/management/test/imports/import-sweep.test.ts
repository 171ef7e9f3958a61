import { readdirSync, rmSync } from 'node:fs';
import type { Catalog } from '@waymark/catalog';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { createImportEnds } from '../../src/imports/import-ends.js';
import { createImportFiles } from '../../src/imports/import-files.js';

type OpenImports = Awaited<ReturnType<Catalog['importJobs']['listOpen']>>;

it('no directory is removed while an import cannot be read, and then those without an import are', async () => {
  const root = temporaryDirectory('waymark-import-sweep-');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const files = createImportFiles(root);
  const [used, unused] = [await files.createDirectory(), await files.createDirectory()];
  for (const directory of [used, unused]) await files.setChanged(directory, 0);
  const records = [{ id: 'import_1', workspaceId: 'ws_1', status: 'processing', directory: used, expiresAt: null }];
  let unreadable: OpenImports['unreadable'] = ['import_2'];
  const listOpen = async () => ({ records: records as unknown as OpenImports['records'], unreadable });
  const ends = createImportEnds({
    catalog: { importJobs: { listOpen } } as unknown as Catalog,
    ...{ files, importBytesMax: 1, baseUrl: '', now: Date.now },
    jobNotifier: { ended: async () => undefined },
  });
  expect(await ends.sweep()).toEqual(records);
  expect(readdirSync(root).sort()).toEqual([used, unused].sort());
  unreadable = [];
  await ends.sweep();
  expect(readdirSync(root)).toEqual([used]);
});
