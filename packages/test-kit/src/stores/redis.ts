import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dyingWithParent, endProcess } from '../child-process.js';
import { freePort } from '../free-port.js';
import { waitFor } from '../wait-for.js';
import { emptyGivenRedis } from './given-redis.js';
import { givenServers } from './given-servers.js';
import { temporaryDirectory } from './temporary-directory.js';
import type { TestRedis } from './test-server.js';

export interface TestRedisOptions {
  /** Not removed by `stop`. Default: a temporary directory, removed by `stop`. */
  readonly dataDir?: string;
  readonly port?: number;
  /** Further arguments of redis-server, such as `['--maxmemory', '64mb']`. */
  readonly args?: readonly string[];
}

/** As durable as in a stack: each write is in the AOF before its reply, and nothing is evicted. */
const ARGUMENTS = [
  '--bind',
  '127.0.0.1',
  '--appendonly',
  'yes',
  '--appendfsync',
  'always',
  '--maxmemory-policy',
  'noeviction',
];

/** Starts a redis-server or, without options, takes an empty database of the external server if there is one. */
export async function startRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const { redisUrl } = givenServers();
  if (redisUrl !== undefined && Object.keys(options).length === 0) return emptyGivenRedis(redisUrl);
  const dataDir = options.dataDir ?? temporaryDirectory('waymark-redis-');
  mkdirSync(dataDir, { recursive: true });
  const port = options.port ?? (await freePort());
  const args = ['--port', String(port), '--dir', dataDir, '--save', '', ...ARGUMENTS, ...(options.args ?? [])];
  let child = await launch(port, args);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dataDir,
    get pid() {
      return child.pid ?? 0;
    },
    kill9: () => endProcess(child, 'SIGKILL'),
    async restart() {
      await endProcess(child, 'SIGTERM');
      child = await launch(port, args);
    },
    async stop() {
      // Only if the data are kept, because a regular stop takes a tenth of a second.
      await endProcess(child, options.dataDir === undefined ? 'SIGKILL' : 'SIGTERM');
      if (options.dataDir !== undefined) return;
      // A child process that rewrites the log outlives its killed parent briefly, and may still create a file.
      const isRemoved = () => rmSync(dataDir, { recursive: true, force: true }) ?? true;
      await waitFor(isRemoved, { what: `${dataDir} to be removed` });
    },
  };
}

/** After a kill, Redis reads its whole log before it answers. */
const START_MS_MAX = 60_000;

async function launch(port: number, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(...dyingWithParent('redis-server', args), { stdio: ['ignore', 'ignore', 'inherit'] });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  child.once('error', (err) => console.error(`redis-server cannot be started: ${err.message}`));
  await waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
      return answersPing(port);
    },
    { what: `redis-server on port ${port}`, timeoutMs: START_MS_MAX },
  );
  return child;
}

/** Whether Redis answers PONG. While it loads its data it accepts connections, but answers with an error. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const finish = (isReady: boolean) => {
      socket.destroy();
      resolve(isReady);
    };
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')));
    socket.once('error', () => finish(false));
  });
}
