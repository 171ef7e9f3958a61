import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess } from '../child-process.js';
import { freePort } from '../free-port.js';
import { waitFor } from '../wait-for.js';
import { emptyGivenRedis } from './given-redis.js';
import { givenServers } from './given-servers.js';
import { launchRedis } from './redis-process.js';
import { temporaryDirectory } from './temporary-directory.js';
import type { TestRedis } from './test-server.js';

/** Options of {@link startRedis}. */
export interface TestRedisOptions {
  /** Not removed by `stop`. Default: a temporary directory, removed by `stop`. */
  readonly dataDir?: string;
  /** Default: a free port. */
  readonly port?: number;
  /** Further arguments of redis-server, such as `['--maxmemory', '64mb']`. */
  readonly args?: readonly string[];
  /** The text of a configuration file, which the server may change. Default: none. */
  readonly configuration?: string;
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
  const file = options.configuration === undefined ? [] : [join(dataDir, 'redis.conf')];
  for (const path of file) writeFileSync(path, options.configuration ?? '');
  const args = [...file, '--port', String(port), '--dir', dataDir, '--save', '', ...ARGUMENTS, ...(options.args ?? [])];
  let child = await launchRedis(port, args);
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
      child = await launchRedis(port, args);
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
