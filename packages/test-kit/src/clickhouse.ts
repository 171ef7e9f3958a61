import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedThreads, startEmbeddedClickHouse } from '@waymark/clickhouse-embedded';
import { environmentWith } from '@waymark/config';
import { endProcess } from './child-process.js';
import { freePort } from './free-port.js';

export interface TestClickHouseOptions {
  /** Kept when given; else a temporary one, removed by `stop`. */
  readonly dataDir?: string;
  readonly port?: number;
}

export interface TestClickHouse {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number;
  readonly dataDir: string;
  kill9(): Promise<void>;
  /** Starts it again after a kill, or stops and starts it, on the same port and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** An embedded ClickHouse of one's own, for tests that kill it. Others share one: `createTestDatabase`. */
export async function startClickHouse(options: TestClickHouseOptions = {}): Promise<TestClickHouse> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'waymark-clickhouse-'));
  const port = options.port ?? (await freePort());
  const env = environmentWith({ UV_THREADPOOL_SIZE: String(embeddedThreads()) });
  const launch = () => startEmbeddedClickHouse({ dataDir, port, env, stdio: 'inherit' });
  let server = await launch();
  return {
    url: server.url,
    port,
    dataDir,
    get pid() {
      return server.pid;
    },
    kill9: () => endProcess(server.child, 'SIGKILL'),
    async restart() {
      await server.stop();
      server = await launch();
    },
    async stop() {
      await server.stop();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
