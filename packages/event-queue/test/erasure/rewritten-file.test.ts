import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis, type TestRedis, type TestRedisOptions, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { rewriteFiles } from '../../src/erasure/rewrite-files.js';

const WITHIN_MS = 30_000;
const TEXT = 'a text of Ann';

async function start(options: TestRedisOptions) {
  const server = await startRedis(options);
  const redis = new Redis(server.url);
  redis.on('error', () => undefined);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  return { server, redis };
}

const dumpOf = ({ dataDir }: TestRedis) => join(dataDir, 'dump.rdb');
const isInDump = (server: TestRedis) => readFileSync(dumpOf(server), 'latin1').includes(TEXT);
function isInLog({ dataDir }: TestRedis): boolean {
  const directory = join(dataDir, 'appendonlydir');
  return readdirSync(directory).some((name) => readFileSync(join(directory, name), 'latin1').includes(TEXT));
}

/** Stores the text, calls `whileStored`, and removes the text, as an erasure does before the rewrites. */
async function addAndRemove(redis: Redis, whileStored: () => Promise<unknown>): Promise<void> {
  await redis.set('of Ann', TEXT);
  await whileStored();
  await redis.del('of Ann');
}

/** The connection, but instead of sending the command it kills the server and starts it again. */
function restartingAt(command: string, redis: Redis, server: TestRedis): Redis {
  return new Proxy(redis, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...parameters: unknown[]) => unknown;
      return name === command ? () => server.kill9().then(server.restart) : bound;
    },
  });
}

it('an append-only file is rewritten, and no dump is made where there was none', async () => {
  const { server, redis } = await start({ args: [] });
  await addAndRemove(redis, async () => undefined);
  expect(isInLog(server)).toBe(true);
  expect(await rewriteFiles(redis, WITHIN_MS)).toBe(true);
  expect([isInLog(server), existsSync(dumpOf(server))]).toEqual([false, false]);
});

it('the log of slow commands is emptied, and its absence ends nothing', async () => {
  const { redis } = await start({ args: ['--slowlog-log-slower-than', '0'] });
  await addAndRemove(redis, async () => undefined);
  const isInSlowLog = async () => JSON.stringify(await redis.slowlog('GET', 128)).includes(TEXT);
  expect(await isInSlowLog()).toBe(true);
  expect(await rewriteFiles(redis, WITHIN_MS)).toBe(true);
  expect(await isInSlowLog()).toBe(false);
  await redis.acl('SETUSER', 'default', '-slowlog');
  expect(await rewriteFiles(redis, WITHIN_MS)).toBe(true);
});

it.each([
  ['of a server with save points', ['--save', '3600 1000000'], false],
  ['of a server with save points and without an append-only file', ['--save', '3600 1', '--appendonly', 'no'], false],
  ['that was made since the server started', [], false],
  ['of an earlier run, in a directory of this machine', [], true],
])('a dump %s is rewritten', async (_what, args, isStartedAgain) => {
  const { server, redis } = await start({ args });
  await addAndRemove(redis, () => redis.save());
  if (isStartedAgain) {
    await server.kill9();
    await server.restart();
  }
  expect(isInDump(server)).toBe(true);
  expect(await rewriteFiles(redis, WITHIN_MS)).toBe(true);
  expect(isInDump(server)).toBe(false);
});

const NO_CONFIG = ['--rename-command', 'CONFIG', ''];

it('a server that refuses CONFIG makes no dump where there was none', async () => {
  const { server, redis } = await start({ args: NO_CONFIG });
  await addAndRemove(redis, async () => undefined);
  expect(await rewriteFiles(redis, WITHIN_MS)).toBe(true);
  expect([isInLog(server), existsSync(dumpOf(server))]).toEqual([false, false]);
});

it.each([
  ['a replica', false, []],
  ['a replica that refuses CONFIG', false, NO_CONFIG],
  ['a former replica that refuses CONFIG', true, NO_CONFIG],
])('the dump that %s has of its first synchronisation is rewritten', async (_what, isPromoted, args) => {
  const master = await start({ args: ['--repl-diskless-sync-delay', '0'] });
  const replica = await start({ args });
  await addAndRemove(master.redis, async () => {
    await replica.redis.replicaof('127.0.0.1', String(master.server.port));
    await waitFor(async () => /master_link_status:up/.test(await replica.redis.info('replication')), {
      what: 'the replica',
    });
  });
  await waitFor(async () => (await replica.redis.exists('of Ann')) === 0, { what: 'the removal' });
  if (isPromoted) await replica.redis.replicaof('NO', 'ONE');
  expect(isInDump(replica.server)).toBe(true);
  // A replica rewrites its append-only file by itself after the synchronisation: then it is rewritten once more.
  await waitFor(() => rewriteFiles(replica.redis, WITHIN_MS), { what: 'the rewrite' });
  expect(isInDump(replica.server)).toBe(false);
});

it.each(['bgrewriteaof', 'bgsave'])(
  'a file is not rewritten if its server is killed and started again during %s',
  async (command) => {
    const { server, redis } = await start({ args: ['--save', '3600 1000000'] });
    expect(await rewriteFiles(restartingAt(command, redis, server), WITHIN_MS)).toBe(false);
  },
);

it('a dump that is under way already does not count, because it may have begun before the removal', async () => {
  // Writing the key into the dump takes longer than all else.
  const { redis } = await start({
    args: ['--save', '3600 1', '--appendonly', 'no', '--rdb-key-save-delay', '30000000'],
  });
  await redis.set('of Ann', TEXT);
  await redis.bgsave();
  expect(await rewriteFiles(redis, WITHIN_MS)).toBe(false);
  // Ends the process that writes the dump, which would outlive a killed server.
  const closed = once(redis, 'close');
  redis.shutdown('NOSAVE').catch(() => undefined);
  await closed;
});
