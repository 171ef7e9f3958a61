import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
    jobEndNotifier: { ended: async () => undefined },
  });
  expect(await ends.sweep()).toEqual(records);
  expect(readdirSync(root).sort()).toEqual([used, unused].sort());
  unreadable = [];
  await ends.sweep();
  expect(readdirSync(root)).toEqual([used]);
});

it('a workspace keeps the reports of its latest hundred imports, and every import that has not ended', async () => {
  const root = temporaryDirectory('waymark-import-kept-');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const files = [{ name: 'rejected.csv', rows: 1, bytes: 1 }];
  const anImport = (workspaceId: string, number: number, fields: object = {}) => ({
    ...{ id: `import_${number}`, workspaceId, status: 'completed', directory: `d${number}`, files, expiresAt: null },
    finishedAt: new Date(number * 1000).toISOString(),
    ...fields,
  });
  const many = Array.from({ length: 102 }, (_, index) => anImport('ws_1', 10 + index));
  const others = [
    ...[anImport('ws_1', 7, { status: 'processing' }), anImport('ws_1', 8, { files: [] }), anImport('ws_2', 9)],
  ];
  const expired: string[] = [];
  const importJobs = {
    listOpen: async () => ({ records: [...many, ...others] as unknown as OpenImports['records'], unreadable: [] }),
    update: async (_: string, id: string) => void expired.push(id),
  };
  const ends = createImportEnds({
    catalog: { importJobs } as unknown as Catalog,
    ...{ files: createImportFiles(root), importBytesMax: 1, baseUrl: '', now: Date.now },
    jobEndNotifier: { ended: async () => undefined },
  });
  await ends.sweep();
  expect(expired.sort()).toEqual(['import_10', 'import_11']);
});

it('the reports of an import are removed when they expire, and not before', async () => {
  const root = temporaryDirectory('waymark-import-expiry-');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const files = createImportFiles(root);
  const now = Date.now();
  const anImport = async (id: string, expiresMs: number) => ({
    ...{ id, workspaceId: 'ws_1', status: 'completed', directory: await files.createDirectory() },
    ...{ files: [{ name: 'rejected.csv', rows: 1, bytes: 1 }], expiresAt: new Date(expiresMs).toISOString() },
  });
  const [expired, kept] = [await anImport('import_1', now - 1), await anImport('import_2', now + 1)];
  const changes: unknown[] = [];
  const importJobs = {
    listOpen: async () => ({ records: [expired, kept] as unknown as OpenImports['records'], unreadable: [] }),
    update: async (_: string, id: string, change: (job: object) => object) => void changes.push([id, change(expired)]),
  };
  const ends = createImportEnds({
    catalog: { importJobs } as unknown as Catalog,
    ...{ files, importBytesMax: 1, baseUrl: '', now: () => now },
    jobEndNotifier: { ended: async () => undefined },
  });
  await ends.sweep();
  expect(changes).toEqual([['import_1', { files: [], expiresAt: new Date(now).toISOString() }]]);
  expect(readdirSync(root)).toEqual([kept.directory]);
});

it('the report of an end removes the file and the credential of its import: a process killed before it may have left them', async () => {
  const root = temporaryDirectory('waymark-import-report-');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const files = createImportFiles(root);
  const directory = await files.createDirectory();
  writeFileSync(files.sourcePath(directory), 'url,password');
  await files.writeCredential(directory, 'sealed');
  const steps: string[] = [];
  const ends = createImportEnds({
    catalog: { importJobs: { reported: async () => void steps.push('reported') } } as unknown as Catalog,
    ...{ files, importBytesMax: 1, baseUrl: '', now: Date.now },
    jobEndNotifier: { ended: async () => void steps.push('sent') },
  });
  const job = { id: 'import_1', workspaceId: 'ws_1', status: 'completed', directory, files: [], finishedAt: null };
  await ends.report(job as unknown as Parameters<typeof ends.report>[0]);
  expect([steps, readdirSync(join(root, directory))]).toEqual([['sent', 'reported'], []]);
});
