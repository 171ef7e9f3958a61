import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { infoField } from '../redis/info.js';
import { readSetting } from '../redis/settings.js';

const POLL_MS = 100;

/** Returns a field of `INFO`; empty if the server does not have it. */
type Info = (field: string) => string;

/** A file that Redis writes in a child process. */
interface BackgroundFile {
  /** Begins the rewrite. @throws ReplyError when another one is under way */
  readonly begin: (redis: Redis) => Promise<unknown>;
  readonly isUnderWay: (info: Info) => boolean;
  /** The field with the outcome of the last rewrite. */
  readonly outcome: string;
}

const APPEND_ONLY_FILE: BackgroundFile = {
  begin: (redis) => redis.bgrewriteaof(),
  isUnderWay: (info) => info('aof_rewrite_in_progress') !== '0' || info('aof_rewrite_scheduled') !== '0',
  outcome: 'aof_last_bgrewrite_status',
};
const DUMP: BackgroundFile = {
  begin: (redis) => redis.bgsave(),
  isUnderWay: (info) => info('rdb_bgsave_in_progress') !== '0',
  outcome: 'rdb_last_bgsave_status',
};
/** The errors of both commands while a child process writes a file. */
const BUSY = /in progress|right now/;

async function readInfo(redis: Redis): Promise<Info> {
  const text = await redis.info();
  return (field) => infoField(text, field) ?? '';
}

/** Has Redis rewrite a file, and waits for the end. @returns whether the file is rewritten */
async function rewrite(
  redis: Redis,
  { begin, isUnderWay, outcome }: BackgroundFile,
  withinMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const before = await readInfo(redis);
  try {
    await begin(redis);
  } catch (err) {
    if (!(err instanceof Error && BUSY.test(err.message))) throw err;
    return false;
  }
  for (const untilMs = performance.now() + withinMs; performance.now() < untilMs && signal?.aborted !== true; ) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS).unref());
    const info = await readInfo(redis);
    if (info('run_id') !== before('run_id')) return false;
    if (!isUnderWay(info)) return info(outcome) === 'ok';
  }
  return false;
}

/**
 * Whether Redis may have a dump: it has written one since it started, has save points, is or was a replica, whose synchronisation leaves one,
 * or has one in a directory of this machine. Where `CONFIG` is refused, `INFO` alone decides. A dump is not made where there is none, because
 * it would keep values that expire later.
 */
async function mayHaveDump(redis: Redis, info: Info): Promise<boolean> {
  if (Number(info('rdb_saves')) > 0) return true;
  // It is -1 unless the server was a replica before it became a master.
  if (Number(info('second_repl_offset')) >= 0) return true;
  const isReplica = info('role') === 'slave';
  const [save, diskless, directory, file] = await Promise.all(
    ['save', 'repl-diskless-load', 'dir', 'dbfilename'].map((name) => readSetting(redis, name)),
  );
  if (directory === undefined || file === undefined) return isReplica;
  return save !== '' || (isReplica && diskless === 'disabled') || existsSync(join(directory, file));
}

/** Empties the log of slow commands, which has the beginnings of their arguments. If Redis refuses, they stay until newer ones replace them. */
async function resetSlowLog(redis: Redis): Promise<void> {
  try {
    await redis.slowlog('RESET');
  } catch (err) {
    if (!(err instanceof Error && err.name === 'ReplyError')) throw err;
  }
}

/**
 * Empties the log of slow commands. Makes Redis rewrite the files that may still contain removed values, and waits until it has done so: the
 * append-only file, which has every command since the last rewrite, and the dump, which has every value of the time at which it was made.
 *
 * @param withinMs how long to wait for each
 * @param signal ends the wait
 * @returns true if the files are rewritten, or there are none; false if a rewrite failed, did not end in time, found another one under way,
 * which may have begun too early, or if another server or process answers now, after a failover or a restart
 * @throws the error of Redis or the connection
 */
export async function rewriteFiles(redis: Redis, withinMs: number, signal?: AbortSignal): Promise<boolean> {
  await resetSlowLog(redis);
  const info = await readInfo(redis);
  if (info('aof_enabled') === '1' && !(await rewrite(redis, APPEND_ONLY_FILE, withinMs, signal))) return false;
  return !(await mayHaveDump(redis, info)) || rewrite(redis, DUMP, withinMs, signal);
}
