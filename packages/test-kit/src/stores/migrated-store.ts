import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createClickHouseClient, migrate } from '@waymark/clickhouse';
import { inject } from 'vitest';
import { startClickHouse, type TestClickHouse } from './clickhouse.js';
import { temporaryDirectory } from './temporary-directory.js';

/** The database of a stack. */
const DATABASE = 'waymark';

/**
 * Makes a data directory of the embedded ClickHouse whose database `waymark` has every table and no rows, for tests that do not test
 * the first start. It is a copy of one that the run makes once: all migrations take over a second of processor time.
 *
 * @param dataDir must not exist
 */
export async function makeMigratedStore(dataDir: string): Promise<void> {
  const original = join(inject('keptDatabases'), 'migrated-store');
  if (!existsSync(original)) await makeOriginal(original);
  mkdirSync(dirname(dataDir), { recursive: true });
  cpSync(original, dataDir, { recursive: true, verbatimSymlinks: true });
}

/** As `startClickHouse`, with the migrated database `waymark`. */
export async function startMigratedClickHouse(): Promise<TestClickHouse> {
  const directory = temporaryDirectory('waymark-clickhouse-');
  const dataDir = join(directory, 'store');
  await makeMigratedStore(dataDir);
  const server = await startClickHouse({ dataDir });
  const { stop } = server;
  return Object.assign(server, {
    async stop() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  });
}

/** Several processes run tests; where two begin at once, the directory of the first to end is used. */
async function makeOriginal(original: string): Promise<void> {
  const draft = mkdtempSync(`${original}-`);
  const server = await startClickHouse({ dataDir: draft });
  const client = createClickHouseClient({ url: server.url, database: DATABASE });
  await migrate(client);
  await client.close();
  await server.stop();
  try {
    renameSync(draft, original);
  } catch (err) {
    rmSync(draft, { recursive: true });
    if (!existsSync(original)) throw err;
  }
}
