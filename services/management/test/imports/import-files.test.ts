import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NO_COUNTS } from '@waymark/import';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { createImportFiles } from '../../src/imports/import-files.js';

async function anImport(reportBytesMax?: number) {
  const root = temporaryDirectory('waymark-import-files-');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const files = createImportFiles(root, reportBytesMax);
  const directory = await files.createDirectory();
  const position = (row: number) => ({
    ...{ row, counts: NO_COUNTS, atMs: 1, bytesRead: row },
    reports: { rejected: row, lost: 0, columns: ['url'] },
  });
  return { files, root, directory, position };
}

it('an attempt has the reports of the one before up to its checkpoint, and what was written later is gone', async () => {
  const { files, root, directory, position } = await anImport();
  const first = { directory, attempt: 1 };
  expect(await files.begin(first)).toBeUndefined();
  const reports = await files.openReports(first, undefined);
  await reports.append('rejected', 'one\n');
  await reports.checkpoint(position(1));
  await reports.append('rejected', 'x'.repeat(100_000));
  await reports.append('lost', 'y'.repeat(100_000));
  // The process is killed here, and the next one before its first batch, several times.
  for (const attempt of [2, 3, 4]) {
    expect(await files.begin({ directory, attempt })).toMatchObject({ row: 1, bytes: { rejected: 4, lost: 0 } });
    expect(readdirSync(join(root, directory))).toEqual([String(attempt)]);
  }
  await reports.close();
  const file = join(root, directory, '4', 'rejected.csv');
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['one\n', 0o600]);
  expect(existsSync(join(root, directory, '4', 'lost.csv'))).toBe(false);
  const next = await files.openReports(
    { directory, attempt: 4 },
    await files.readCheckpoint({ directory, attempt: 4 }),
  );
  await next.append('rejected', 'two\n');
  expect((await next.checkpoint(position(2))).bytes).toEqual({ rejected: 8, lost: 0 });
  await next.close();
});

it('both reports together never exceed their limit, also between two checkpoints', async () => {
  const { files, root, directory, position } = await anImport(1024 ** 2);
  const first = { directory, attempt: 1 };
  await files.begin(first);
  const reports = await files.openReports(first, undefined);
  await reports.append('rejected', 'x'.repeat(500_000));
  await reports.append('lost', 'y'.repeat(500_000));
  await reports.append('rejected', 'z'.repeat(40_000));
  await expect(reports.append('rejected', 'z'.repeat(40_000))).rejects.toThrow('have more than 1 MB');
  await reports.append('rejected', 'z'.repeat(60_000));
  await expect(reports.checkpoint(position(1))).rejects.toThrow('have more than 1 MB');
  await reports.close();
  const sizes = ['rejected', 'lost'].map((name) => statSync(join(root, directory, '1', `${name}.csv`)).size);
  expect(sizes).toEqual([500_000, 500_000]);
});

it('an attempt begins again after one whose checkpoint cannot be read, as that of another release', async () => {
  const { files, root, directory, position } = await anImport();
  const first = { directory, attempt: 1 };
  await files.begin(first);
  const reports = await files.openReports(first, undefined);
  await reports.checkpoint(position(1));
  await reports.close();
  const path = join(root, directory, '1', 'checkpoint.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"row":1', '"row":"one"'));
  expect(await files.readCheckpoint(first)).toBeUndefined();
  expect(await files.begin({ directory, attempt: 2 })).toBeUndefined();
  expect(readdirSync(join(root, directory))).toEqual(['2']);
});

it('an attempt without a directory has nothing to continue, and makes none', async () => {
  const { files, root } = await anImport();
  expect(await files.begin({ directory: 'missing', attempt: 1 })).toBeUndefined();
  expect(existsSync(join(root, 'missing'))).toBe(false);
});

it('a source that is never read leaves no file open', async () => {
  const { files, directory } = await anImport();
  writeFileSync(files.sourcePath(directory), '{}\n');
  const openFiles = () => readdirSync('/dev/fd').length;
  const readOne = async () => {
    for await (const _chunk of files.readSource(directory));
  };
  await readOne();
  const before = openFiles();
  for (let count = 0; count < 20; count++) files.readSource(directory);
  for (let count = 0; count < 5; count++) await readOne();
  expect(openFiles()).toBeLessThan(before + 5);
});
