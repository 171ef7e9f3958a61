import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Erasure } from '@waymark/contract';
import { temporaryDirectory } from '@waymark/test-kit';
import { beforeEach, expect, it } from 'vitest';
import { leftToRepeat, readErasureFile, writeErasureFile } from '../../src/commands/personal-data/erasure-file.js';
import { runCommand } from '../run-cli.js';

let directory: string;
let file: string;

beforeEach(() => {
  directory = temporaryDirectory('waymark-erasures-');
  file = join(directory, 'erasures.json');
});

const anErasure = (id: string, ...customerIds: string[]): Erasure => ({
  ...{ id, customerIds, mode: 'anonymise', status: 'erased', events: 0, clicks: 0, kept: [] },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', startedAt: null, erasedAt: null },
});

it('a list has its file for itself, and is replaced by one that has all of its erasures', async () => {
  await writeErasureFile(file, [anErasure('era_1', 'cus_1')]);
  const both = [anErasure('era_2', 'cus_2'), anErasure('era_1', 'cus_1')];
  await writeErasureFile(file, both);
  expect(readErasureFile(file)).toEqual(both);
  expect([statSync(file).mode & 0o777, readdirSync(directory)]).toEqual([0o600, ['erasures.json']]);
});

it('a list stays when the installation was restored and lacks one of its erasures, until that is repeated', async () => {
  await writeErasureFile(file, [anErasure('era_2', 'cus_2', 'cus_3'), anErasure('era_1', 'cus_1')]);
  const before = readFileSync(file, 'utf8');
  const restored = [anErasure('era_4', 'cus_3'), anErasure('era_1', 'cus_1')];
  await expect(writeErasureFile(file, restored)).rejects.toThrow(/1 of its erasures are not in this installation/);
  expect(readFileSync(file, 'utf8')).toBe(before);
  const repeated = [anErasure('era_5', 'cus_2'), ...restored];
  await writeErasureFile(file, repeated);
  expect(readErasureFile(file)).toEqual(repeated);
});

it.each([
  ['the same erasure', 'era_1'],
  ['another erasure of the same customers', 'era_2'],
])(
  'a list stays when the installation has only anonymised whom %s is to delete, until that is repeated',
  async (_what, id) => {
    const anonymised = anErasure('era_1', 'cus_1');
    const kept: Erasure = { ...anErasure(id, 'cus_1'), mode: 'delete' };
    await writeErasureFile(file, id === 'era_1' ? [kept] : [kept, anonymised]);
    const before = readFileSync(file, 'utf8');
    await expect(writeErasureFile(file, [anonymised])).rejects.toThrow(
      /1 of its erasures are not in this installation/,
    );
    expect(readFileSync(file, 'utf8')).toBe(before);
    const repeated: Erasure[] = [{ ...anErasure('era_3', 'cus_1'), mode: 'delete' }, anonymised];
    await writeErasureFile(file, repeated);
    expect(readErasureFile(file)).toEqual(repeated);
  },
);

it('whom a restored installation has only anonymised since its start is deleted again', () => {
  const anonymised = anErasure('era_1', 'cus_1');
  const kept: Erasure = { ...anonymised, mode: 'delete' };
  expect(leftToRepeat({ kept: [kept], found: [anonymised] })).toEqual([kept]);
  expect(leftToRepeat({ kept: [anonymised], found: [kept] })).toEqual([]);
  expect(leftToRepeat({ kept: [kept], found: [{ ...kept, status: 'accepted' }] })).toEqual([kept]);
});

it('a list is replaced when the installation has deleted whom it has as anonymised', async () => {
  await writeErasureFile(file, [anErasure('era_1', 'cus_1')]);
  await writeErasureFile(file, [{ ...anErasure('era_1', 'cus_1'), mode: 'delete' }]);
  expect(readErasureFile(file)).toMatchObject([{ mode: 'delete' }]);
});

it('a list stays when one of its erasures had no customer, which cannot be repeated by the list', async () => {
  await writeErasureFile(file, [anErasure('era_1')]);
  await expect(writeErasureFile(file, [])).rejects.toThrow(/1 of its erasures/);
});

it('a file that is no list of erasures is not replaced', async () => {
  writeFileSync(file, '{"other":true}');
  await expect(writeErasureFile(file, [])).rejects.toThrow(/is not what/);
  expect(readFileSync(file, 'utf8')).toBe('{"other":true}');
});

it('a list stays when the stack is down', async () => {
  await writeErasureFile(file, [anErasure('era_1', 'cus_1')]);
  const before = readFileSync(file, 'utf8');
  const env = { DATA_DIR: join(directory, 'data') };
  const run = await runCommand(env, 'erasure', 'list', '--workspace', 'acme', '--output', file);
  expect(run).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('no stack is running') });
  expect(readFileSync(file, 'utf8')).toBe(before);
});
