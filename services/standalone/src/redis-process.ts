import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, closeSync, constants, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killProcess } from '@waymark/config';
import { connectRedis, redisSocketUrl } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { openLog } from './data-dir/log-files.js';
import { type Launched, processEntry, untilReady } from './launch.js';

/** How {@link launchRedis} starts Redis. */
export interface RedisOptions {
  readonly dataDir: string;
  /** Path of the unix socket on which it listens, and on nothing else. */
  readonly socket: string;
  /** Its memory limit, in megabytes. */
  readonly maxmemoryMb: number;
  /** Required from every client. */
  readonly password: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const PROBE_EVERY_MS = 20;
const UNUSED_TIMEOUT_MS = 5_000;
/** Codes of `connect` for a socket without a listening process. */
const UNUSED_SOCKET_CODES: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK']);

function findOnPath(path: string, ...names: readonly string[]): string | undefined {
  return names
    .flatMap((name) => path.split(delimiter).map((directory) => join(directory, name)))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Path of `setpriv` if it can have a process killed when its parent ends: on Linux, with util-linux 2.33 or newer. */
function findSetpriv(path: string): string | undefined {
  const setpriv = process.platform === 'linux' ? findOnPath(path, 'setpriv') : undefined;
  if (setpriv === undefined) return undefined;
  try {
    execFileSync(setpriv, ['--pdeathsig', 'KILL', 'true'], { stdio: 'ignore' });
    return setpriv;
  } catch {
    return undefined;
  }
}

/**
 * Because the queue is in Redis, every write is on disk before it is acknowledged, and nothing is evicted. `-` reads further
 * configuration from standard input: the password, which on a command line every user of the machine could see.
 */
function redisArguments({ socket, maxmemoryMb }: RedisOptions, directory: string): string[] {
  return [
    '-',
    ...['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700'],
    ...['--dir', directory, '--daemonize', 'no', '--save', ''],
    ...['--appendonly', 'yes', '--appendfsync', 'always', '--aof-load-truncated', 'yes'],
    ...['--maxmemory', `${maxmemoryMb}mb`, '--maxmemory-policy', 'noeviction'],
    // How often a second it looks for expired keys and other work in the background, by default ten times.
    ...['--hz', '4'],
  ];
}

async function answersPing(redis: Redis): Promise<boolean> {
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}

/** Waits without a time limit until Redis accepts commands, because loading a long append-only file can take minutes. */
async function untilServing({ socket, password }: RedisOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const redis = connectRedis(redisSocketUrl(socket, password), {
      lazyConnect: true,
      retryStrategy: () => null,
    });
    redis.on('error', () => undefined);
    if (await answersPing(redis)) return;
    await delay(PROBE_EVERY_MS);
  }
}

/** Whether a process listens on the socket; false for the file that a killed one has left. */
async function isListenedOn(socket: string): Promise<boolean> {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch (err) {
    // After any other error a process may still listen: the queue of connections of a hung process can be full.
    return !UNUSED_SOCKET_CODES.has((err as NodeJS.ErrnoException).code);
  } finally {
    connection.destroy();
  }
}

/**
 * Waits for the end of a Redis that still listens, such as one that is being killed. A new one would take its socket from it without an
 * error, and both would write to the same data.
 *
 * @throws Error when it does not end
 */
async function untilUnused(socket: string): Promise<void> {
  const deadlineMs = performance.now() + UNUSED_TIMEOUT_MS;
  while (await isListenedOn(socket)) {
    if (performance.now() > deadlineMs) throw new Error(`redis: another process listens on ${socket}: stop it`);
    await delay(PROBE_EVERY_MS);
  }
}

/**
 * The pid of Redis as started by `redis-guard.ts`, which is used without `setpriv` and kills Redis when this process ends. If the
 * guard ends first, this process kills Redis.
 */
async function guardedPid(guard: ChildProcess): Promise<number> {
  const [{ pid }] = (await once(guard, 'message')) as [{ pid?: number }];
  if (pid === undefined) throw new Error('redis: the process could not be started');
  guard.once('exit', () => killProcess({ pid }));
  return pid;
}

/**
 * Starts a Redis whose data is in `DATA_DIR/redis`, and waits until it accepts commands. It ends when this process ends.
 *
 * @throws Error when there is no redis-server or valkey-server on the PATH, another one listens on the socket, or it ends before it accepts
 *   commands
 */
export async function launchRedis(options: RedisOptions, signal: AbortSignal): Promise<Launched> {
  const path = options.env.PATH ?? '';
  const server = findOnPath(path, 'redis-server', 'valkey-server');
  if (server === undefined)
    throw new Error('no redis-server or valkey-server on the PATH: install one, or set REDIS_URL');

  const directory = join(options.dataDir, 'redis');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await untilUnused(options.socket);
  const log = openLog(options.dataDir, 'redis');
  const command = [server, ...redisArguments(options, directory)];
  const setpriv = findSetpriv(path);
  const child =
    setpriv === undefined
      ? fork(processEntry('redis-guard'), command, { detached: true, stdio: ['pipe', log.fd, log.fd, 'ipc'] })
      : spawn(setpriv, ['--pdeathsig', 'KILL', ...command], { detached: true, stdio: ['pipe', log.fd, log.fd] });
  closeSync(log.fd);
  // Ignore errors of a server that cannot start and so reads nothing: `untilReady` reports its exit.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(`requirepass ${options.password}\n`);
  const pid = setpriv === undefined ? guardedPid(child) : Promise.resolve(child.pid ?? 0);
  // Ignore the error of a guard that cannot be started: `untilReady` rejects with it as well.
  pid.catch(() => undefined);
  await untilReady('redis', child, log.file, signal, (ended) => untilServing(options, ended));
  return { child, pid: await pid };
}
