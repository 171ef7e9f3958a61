import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  embeddedEntry,
  embeddedSocketUrl,
  embeddedUrl,
  newEmbeddedPassword,
  startEmbeddedClickHouse,
} from '@waymark/clickhouse-embedded';
import { environmentWith } from '@waymark/config';
import { endProcess } from '../child-process.js';
import { freePort } from '../free-port.js';
import { temporaryDirectory } from './temporary-directory.js';
import type { TestServer } from './test-server.js';

/** For tests that run after a build: it starts in 0.6 s; the sources take 1.0 s. */
const COMPILED = resolve(import.meta.dirname, '../../../clickhouse-embedded/dist/main.js');

/** Options of {@link startClickHouse}. */
export interface TestClickHouseOptions {
  /** Not removed by `stop`. Default: a temporary directory, removed by `stop`. */
  readonly dataDir?: string;
  /** Default: a free port. */
  readonly port?: number;
  /** Path of a unix socket, on which it listens instead of the port. */
  readonly socket?: string;
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
  const entry = environmentWith({}).TESTS_ARE_BUILT === '1' ? COMPILED : embeddedEntry();
  const { socket } = options;
  const address = socket === undefined ? { port } : { socket };
  const launch = () => startEmbeddedClickHouse({ dataDir, entry, ...address, password, stdio: 'inherit' });
  let server = await launch();
  return {
    url: socket === undefined ? embeddedUrl(port, password) : embeddedSocketUrl(socket, password),
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
