import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';
import { endingOf, endProcess } from './child-process.js';
import type { TestDatabase } from './stores/test-database.js';
import { waitFor } from './wait-for.js';

/** The instance key of processes and catalogs in tests. */
export const TEST_INSTANCE_KEY = '07'.repeat(32);

/** Several processes may start at once on a busy machine. */
const START_MS_MAX = 120_000;

/** The settings of a process that uses these stores. */
export function storeSettings(redis: { readonly url: string }, database: Pick<TestDatabase, 'url' | 'database'>) {
  return {
    REDIS_URL: redis.url,
    CLICKHOUSE_URL: database.url,
    CLICKHOUSE_DATABASE: database.database,
    INSTANCE_KEY: TEST_INSTANCE_KEY,
  };
}

/** A process of a service. */
export interface ForkedService {
  readonly child: ChildProcess;
  /** Where it serves `/readyz`. */
  readonly url: string;
  /** Its log so far. */
  output(): string;
  /** Waits until it is ready; fails at once if it ends. */
  ready(): Promise<void>;
  /** Sends SIGKILL and waits for the exit. */
  kill9(): Promise<void>;
}

/**
 * Starts a process of a service. It ends with this process, because its IPC channel closes.
 *
 * @param entry its compiled entry file, or a test's own from `bundleProcess`
 * @param settings with API_PORT, or for a writer WRITER_PORT, if the test waits until it is ready
 */
export function forkService(entry: URL, settings: Readonly<Record<string, string>>): ForkedService {
  const child = fork(fileURLToPath(entry), [], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: environmentWith({ LOG_LEVEL: 'error', ...settings }),
  });
  let output = '';
  child.stdout?.on('data', (data) => {
    output += String(data);
  });
  const url = `http://127.0.0.1:${settings.API_PORT ?? settings.WRITER_PORT}`;
  return {
    child,
    url,
    output: () => output,
    async ready() {
      await waitFor(async () => (await fetch(`${url}/readyz`)).ok, {
        what: 'the service to be ready',
        timeoutMs: START_MS_MAX,
        failure: () => endingOf(child),
        details: () => output,
      });
    },
    kill9: () => endProcess(child, 'SIGKILL'),
  };
}
