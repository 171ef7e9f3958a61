import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRestoredMark } from '@waymark/config';
import { createInstanceRegistry } from '@waymark/observability';
import { createTestDatabase, startRedis, temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { runCommand } from './run-cli.js';

const BACKUP_AT = '2026-11-21T02:00:00.000Z';

function aDirectory(): string {
  const directory = temporaryDirectory('waymark-restored-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

it('a restore has the next start prepare the stores', async () => {
  const directory = aDirectory();
  const [from, to, backup] = ['from', 'to', 'backup'].map((name) => join(directory, name)) as [string, string, string];
  mkdirSync(join(from, 'redis'), { recursive: true });
  writeFileSync(join(from, 'redis', 'appendonly.aof'), 'rows');
  writeFileSync(join(from, 'instance.key'), '07'.repeat(32));
  expect((await runCommand({ DATA_DIR: from }, 'backup', backup)).code).toBe(0);
  const before = Date.now();
  const { code, stdout } = await runCommand({ DATA_DIR: to }, 'restore', backup);
  expect([code, stdout]).toEqual([0, expect.stringContaining('export schedules will be disabled')]);
  const mark = readRestoredMark(to);
  expect(Date.parse(mark?.backupAt ?? '')).toBeLessThanOrEqual(before);
  expect(mark).not.toHaveProperty('isPartial');
});

it('a restore that ends between two parts of the backup marks DATA_DIR as partly restored, and no backup is made of the part', async () => {
  const directory = aDirectory();
  const [from, to, backup] = ['from', 'to', 'backup'].map((name) => join(directory, name)) as [string, string, string];
  for (const part of ['clickhouse', 'redis']) mkdirSync(join(from, part), { recursive: true });
  writeFileSync(join(from, 'instance.key'), '07'.repeat(32));
  expect((await runCommand({ DATA_DIR: from }, 'backup', backup)).code).toBe(0);
  mkdirSync(to);
  symlinkSync(join(directory, 'missing'), join(to, 'redis'));
  expect((await runCommand({ DATA_DIR: to }, 'restore', backup)).code).toBe(1);
  expect(readdirSync(to).sort()).toEqual(['clickhouse', 'instance.key', 'redis', 'restored.json']);
  const partial = { code: 1, stderr: expect.stringContaining('only a part of the backup') };
  expect(await runCommand({ DATA_DIR: to }, 'restored', '--backup', BACKUP_AT)).toMatchObject(partial);
  rmSync(join(to, 'redis'));
  expect(await runCommand({ DATA_DIR: to }, 'backup', `${backup}-of-a-part`)).toMatchObject(partial);
  expect(readRestoredMark(to)).toMatchObject({ isPartial: true });
});

it('restored has the next start prepare embedded stores that were copied in another way', async () => {
  const directory = aDirectory();
  const waymark = (...args: string[]) => runCommand({ DATA_DIR: directory }, 'restored', ...args);
  expect(await waymark('--backup', BACKUP_AT)).toMatchObject({ code: 1, stderr: expect.stringContaining('no data') });
  mkdirSync(join(directory, 'clickhouse'));
  expect((await waymark('--backup', BACKUP_AT)).code).toBe(0);
  expect(readRestoredMark(directory)).toEqual({ backupAt: BACKUP_AT });
  for (const wrong of ['yesterday', '2026-02-30T02:00:00Z', '2026-11-21T02:00:00'])
    expect(await waymark('--backup', wrong)).toMatchObject({ code: 1, stderr: expect.stringContaining('a time with') });
  expect(await waymark()).toMatchObject({ code: 1, stderr: expect.stringContaining('--backup is required') });
});

it('restored prepares servers at once, and refuses while a service uses them', async () => {
  const directory = aDirectory();
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const client = new Redis(redis.url);
  onTestFinished(async () => {
    client.disconnect();
    await Promise.all([redis.stop(), database.drop()]);
  });
  const waymark = () =>
    runCommand(
      {
        ...{ DATA_DIR: directory, INSTANCE_KEY: '07'.repeat(32), REDIS_URL: redis.url },
        ...{ CLICKHOUSE_URL: database.url, CLICKHOUSE_DATABASE: database.database },
      },
      ...['restored', '--backup', BACKUP_AT],
    );
  await client.set('waymark:cache:name:of-the-dump', 'stale');
  const registry = createInstanceRegistry(client);
  await registry.beat({
    ...{ service: 'writer', instance: 'writer-1', host: 'a', pid: 1, startedAt: Date.now(), version: '0' },
    ...{ lastWorkAt: null, beatAt: Date.now() },
  });
  expect(await waymark()).toMatchObject({ code: 1, stderr: expect.stringContaining('writer (writer-1)') });
  expect(await client.get('waymark:cache:name:of-the-dump')).toBe('stale');
  await client.flushall();
  await client.set('waymark:cache:name:of-the-dump', 'stale');
  expect(await waymark()).toMatchObject({ code: 0, stdout: expect.stringContaining('0 export schedules disabled') });
  expect(await client.get('waymark:cache:name:of-the-dump')).toBeNull();
  expect(Number(await client.get('{waymark}:inserts'))).toBeGreaterThan(4000);
});
