import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { runCommand } from '../run-cli.js';

const [KEY, OTHER] = ['07'.repeat(32), '08'.repeat(32)] as const;

let from: string;
let to: string;
let backup: string;

beforeEach(() => {
  const directory = temporaryDirectory('waymark-restored-key-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  [from, to, backup] = ['from', 'to', 'backup'].map((name) => join(directory, name)) as [string, string, string];
  mkdirSync(join(from, 'redis'), { recursive: true });
  writeFileSync(join(from, 'redis', 'appendonly.aof'), 'rows');
});

const backUp = (env: Record<string, string> = {}) => runCommand({ DATA_DIR: from, ...env }, 'backup', backup);
const restore = (env: Record<string, string> = {}, ...args: string[]) =>
  runCommand({ DATA_DIR: to, ...env }, 'restore', backup, ...args);
const refused = (reason: string) => ({ code: 1, stdout: '', stderr: expect.stringContaining(reason) });

it('a backup of a stack with INSTANCE_KEY is not restored without it, which the first start would replace', async () => {
  expect((await backUp({ INSTANCE_KEY: KEY })).stdout).toContain('INSTANCE_KEY is set and not part of the backup');
  expect(readFileSync(join(backup, 'backup.json'), 'utf8')).not.toContain(KEY.slice(0, 8));
  expect(await restore()).toEqual(refused('has no instance.key: set INSTANCE_KEY'));
  expect(existsSync(to)).toBe(false);
  expect(await restore({ INSTANCE_KEY: KEY })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('start it with npm run up, with the same INSTANCE_KEY'),
  });
});

it('nor with another key, unless the operator says so', async () => {
  await backUp({ INSTANCE_KEY: KEY });
  expect(await restore({ INSTANCE_KEY: OTHER })).toEqual(refused('INSTANCE_KEY is not the key'));
  expect((await restore({ INSTANCE_KEY: OTHER }, '--without-instance-key')).code).toBe(0);
});

it('nor without the previous key, if it was made while the keys were rotated', async () => {
  await backUp({ INSTANCE_KEY: OTHER, INSTANCE_KEY_PREVIOUS: KEY });
  expect(await restore({ INSTANCE_KEY: OTHER })).toEqual(refused('INSTANCE_KEY_PREVIOUS'));
  expect((await restore({ INSTANCE_KEY: OTHER, INSTANCE_KEY_PREVIOUS: KEY })).code).toBe(0);
});

it('a backup from before a rotation is restored with the new keys, which open what is in it', async () => {
  await backUp({ INSTANCE_KEY: KEY });
  expect((await restore({ INSTANCE_KEY: OTHER, INSTANCE_KEY_PREVIOUS: KEY })).code).toBe(0);
});

it('a backup with instance.key is restored with it, and not with another INSTANCE_KEY', async () => {
  writeFileSync(join(from, 'instance.key'), KEY);
  expect((await backUp()).stdout).not.toContain('separately');
  expect(await restore({ INSTANCE_KEY: OTHER })).toEqual(refused('INSTANCE_KEY is not the key'));
  expect((await restore()).code).toBe(0);
});

it('a backup of a release without marks needs a key, whichever it is', async () => {
  expect((await backUp()).stdout).toContain('the backup has no instance.key, and INSTANCE_KEY is not set here');
  expect(await restore()).toEqual(refused('has no instance.key'));
  expect((await restore({ INSTANCE_KEY: OTHER })).code).toBe(0);
});
