import { rmSync } from 'node:fs';
import {
  embeddedEnvironment,
  embeddedUrl,
  newEmbeddedPassword,
  startEmbeddedClickHouse,
} from '@waymark/clickhouse-embedded';
import { environmentWith } from '@waymark/config';
import { endProcess } from '../child-process.js';
import { freePort } from '../free-port.js';
import { temporaryDirectory } from './temporary-directory.js';
import type { TestServer } from './test-server.js';

export interface TestClickHouseOptions {
  /** Not removed by `stop`. Default: a temporary directory, removed by `stop`. */
  readonly dataDir?: string;
  readonly port?: number;
  /** Default: a random password. */
  readonly password?: string;
}

/** The URL contains the user and the password. */
export type TestClickHouse = TestServer;

/** Starts an embedded ClickHouse for one test, which may kill it. Other tests share one: `createTestDatabase`. */
export async function startClickHouse(options: TestClickHouseOptions = {}): Promise<TestClickHouse> {
  const dataDir = options.dataDir ?? temporaryDirectory('waymark-clickhouse-');
  const port = options.port ?? (await freePort());
  const password = options.password ?? newEmbeddedPassword();
  const env = environmentWith(embeddedEnvironment(password));
  const launch = () => startEmbeddedClickHouse({ dataDir, port, env, stdio: 'inherit' });
  let server = await launch();
  return {
    url: embeddedUrl(port, password),
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
