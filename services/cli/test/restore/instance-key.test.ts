import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyMarks, writeRunState } from '@waymark/config';
import { createInstanceRegistry } from '@waymark/observability';
import { startRedis, temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
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

it('a backup that was made while the keys were rotated is restored without the previous key, which is named', async () => {
  await backUp({ INSTANCE_KEY: OTHER, INSTANCE_KEY_PREVIOUS: KEY });
  const missing = expect.stringContaining('accepted another key too');
  expect(await restore({ INSTANCE_KEY: OTHER })).toMatchObject({ code: 0, stderr: missing });
  rmSync(to, { recursive: true });
  expect(await restore({ INSTANCE_KEY: OTHER, INSTANCE_KEY_PREVIOUS: KEY })).toMatchObject({ code: 0, stderr: '' });
});

it('a backup from before a rotation is restored with the new keys, which open what is in it', async () => {
  await backUp({ INSTANCE_KEY: KEY });
  expect((await restore({ INSTANCE_KEY: OTHER, INSTANCE_KEY_PREVIOUS: KEY })).code).toBe(0);
});

it('a backup of a stopped stack with instance.key, which may not be its key, is restored with any key, and this is said', async () => {
  writeFileSync(join(from, 'instance.key'), KEY);
  expect((await backUp()).stdout).not.toContain('separately');
  const notCompared = expect.stringContaining('is not compared');
  expect(await restore({ INSTANCE_KEY: OTHER })).toMatchObject({ code: 0, stderr: notCompared });
  rmSync(to, { recursive: true });
  expect(await restore()).toMatchObject({ code: 0, stderr: notCompared });
});

it('a backup of a release without marks needs a key, whichever it is', async () => {
  expect((await backUp()).stdout).toContain('the backup has no instance.key, and INSTANCE_KEY is not set here');
  expect(await restore()).toEqual(refused('has no instance.key'));
  expect((await restore({ INSTANCE_KEY: OTHER })).code).toBe(0);
});

it('a running stack says what its key is: an unused instance.key and the environment of the command do not count', async () => {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  const processes = [1, 2].map(() => spawn('sleep', ['300']));
  onTestFinished(async () => {
    for (const one of processes) one.kill();
    client.disconnect();
    await redis.stop();
  });
  const [http = 0, writer = 0] = processes.map(({ pid }) => pid);
  const [api, now] = ['http://127.0.0.1:1', Date.now()];
  const pids = { supervisor: process.pid, http, writer, redis: null, clickhouse: null };
  writeRunState(from, { api, links: api, redis: redis.url, clickhouse: api, pids });
  writeFileSync(join(from, 'run', 'supervisor.lock'), JSON.stringify({ supervisor: { pid: process.pid } }));
  const keys = keyMarks({ current: Buffer.from(KEY, 'hex'), others: [] });
  const service = { service: 'writer', instance: 'one', host: 'host', pid: writer, startedAt: now, version: '0' };
  await createInstanceRegistry(client).started({ ...service, keys, lastWorkAt: null, beatAt: now });
  writeFileSync(join(from, 'instance.key'), OTHER);

  expect((await backUp()).stdout).toContain('INSTANCE_KEY is set and not part of the backup');
  expect(await restore()).toEqual(refused('its instance.key is not the key'));
  expect(await restore({ INSTANCE_KEY: OTHER })).toEqual(refused('INSTANCE_KEY is not the key'));
  expect(await restore({ INSTANCE_KEY: KEY })).toMatchObject({ code: 0, stderr: '' });
});
