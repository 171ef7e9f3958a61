import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readDirectoryId } from '../../src/spool/directory-id.js';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory('waymark-directory-id-');
});
afterEach(() => rmSync(directory, { recursive: true }));

it('processes that create the id of a directory at the same moment get the same one', async () => {
  const spool = join(directory, 'spool');
  const ids = await Promise.all(Array.from({ length: 16 }, () => readDirectoryId(spool)));
  expect(new Set(ids).size).toBe(1);
  expect(await readDirectoryId(spool)).toBe(ids[0]);
  expect(readdirSync(spool)).toEqual(['.directory-id']);
});

it('an id that is damaged is replaced', async () => {
  writeFileSync(join(directory, '.directory-id'), '');
  const id = await readDirectoryId(directory);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(await readDirectoryId(directory)).toBe(id);
});
