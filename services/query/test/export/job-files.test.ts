import { copyFile, mkdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Attempt, createJobFiles, type JobFiles } from '../../src/jobs/job-files.js';

let directory: string;
let files: JobFiles;
beforeEach(() => {
  directory = temporaryDirectory('waymark-job-files-');
  files = createJobFiles(directory);
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const attempt = (number: number): Attempt => ({ id: 'job', attempt: number });
const pathOf = (number: number, name = 'part') => join(directory, 'job', String(number), name);
const inodeOf = async (path: string) => (await stat(path)).ino;
const CHECKPOINT = { rows: 1, bytes: 5, lastId: 'one', columns: ['id'] };

/** Writes five bytes, a checkpoint and five more. */
async function write(number: number) {
  expect(await files.begin(attempt(number), ['id'])).toBeUndefined();
  const part = await files.openPart(attempt(number));
  await part.append(Buffer.from('first'));
  await part.checkpoint(CHECKPOINT);
  await part.append(Buffer.from('after'));
  return { part, inode: await inodeOf(pathOf(number)) };
}

/** Begins an attempt that continues after the first five bytes. */
async function goesOn(number: number): Promise<void> {
  expect(await files.begin(attempt(number), ['id'])).toEqual(CHECKPOINT);
  expect(await readFile(pathOf(number), 'utf8')).toBe('first');
}

it('the file of an attempt that has ended is taken over without a copy', async () => {
  const { part, inode } = await write(1);
  await part.close();
  await goesOn(2);
  expect(await inodeOf(pathOf(2))).toBe(inode);
  await expect(stat(pathOf(1, ''))).rejects.toThrow('ENOENT');
});

it('the file of an attempt that may still be running is copied, because it may still be written', async () => {
  const { part, inode } = await write(1);
  await goesOn(2);
  expect(await inodeOf(pathOf(2))).not.toBe(inode);
  await part.append(Buffer.from('late'));
  await part.close();
  expect(await readFile(pathOf(2), 'utf8')).toBe('first');
});

it('a complete file whose end was not recorded is taken over without a copy', async () => {
  const { part, inode } = await write(1);
  await part.complete('links.csv');
  await part.close();
  await goesOn(2);
  expect(await inodeOf(pathOf(2))).toBe(inode);
});

it.each(['before it took the file over', 'after it'])('an attempt that was killed %s is continued', async (when) => {
  const { part } = await write(1);
  await part.close();
  if (when === 'after it') await goesOn(2);
  else {
    await mkdir(pathOf(2, ''));
    await copyFile(pathOf(1, 'checkpoint.json'), pathOf(2, 'checkpoint.json'));
  }
  await goesOn(3);
});

it('a file that cannot be continued is written again', async () => {
  const { part } = await write(1);
  await part.close();
  expect(await files.begin(attempt(2), undefined)).toBeUndefined();
});

/** Writes a file with two columns. @param columns what its checkpoint says of them */
async function writeColumns(number: number, columns: readonly string[] | undefined) {
  expect(await files.begin(attempt(number), ['id', 'url'])).toBeUndefined();
  const part = await files.openPart(attempt(number));
  await part.append(Buffer.from('first'));
  await part.checkpoint({ rows: 1, bytes: 5, lastId: 'one', ...(columns && { columns: [...columns] }) });
  await part.close();
}

it('a file with other columns than those of the new attempt is begun again', async () => {
  await writeColumns(1, ['id', 'url']);
  expect(await files.begin(attempt(2), ['id', 'url'])).toMatchObject({ rows: 1, bytes: 5, lastId: 'one' });
  expect(await files.begin(attempt(3), ['id', 'url', 'later'])).toBeUndefined();
  await expect(stat(pathOf(2, ''))).rejects.toThrow('ENOENT');
});

it('a file of a release whose checkpoints do not say which columns it has is begun again', async () => {
  await writeColumns(1, undefined);
  expect(await files.begin(attempt(2), ['id', 'url'])).toBeUndefined();
  await expect(stat(pathOf(1, ''))).rejects.toThrow('ENOENT');
});

it('a file that is shorter than its checkpoint, as after a crash of the machine, is begun again', async () => {
  const { part } = await write(1);
  await part.close();
  await truncate(pathOf(1, 'part.closed'), 4);
  expect(await files.begin(attempt(2), ['id'])).toBeUndefined();
  await expect(stat(pathOf(2))).rejects.toThrow('ENOENT');
});
