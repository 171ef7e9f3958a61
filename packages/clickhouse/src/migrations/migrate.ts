import { type ClickHouseClient, createClickHouseClient, optionsOf } from '../client.js';
import { type AppliedMigration, bookkeepingTables, readApplied, writeSettings } from './bookkeeping.js';
import { takeLease } from './lease.js';
import { MIGRATIONS_DIRECTORY, type MigrationFile, readMigrationFiles } from './migration-files.js';
import { renderMigration } from './render.js';
import { splitStatements } from './split-statements.js';

export interface MigrateOptions {
  /** Directory of the files; by default `clickhouse/migrations` of the repository. */
  readonly directory?: string | undefined;
  /** Name of the cluster in `system.clusters`; by default a single node. */
  readonly cluster?: string | undefined;
  /** Called before each statement. */
  readonly onStatement?: ((statement: { readonly file: string; readonly sql: string }) => void) | undefined;
}

export interface MigrationReport {
  /** Names of the files applied by this run. */
  readonly applied: readonly string[];
  readonly alreadyApplied: number;
}

export interface MigrationStatus {
  readonly number: number;
  readonly name: string;
  /** `changed`: its file has changed since it was applied. `unknown`: applied by a newer release, without a file here. */
  readonly state: 'applied' | 'pending' | 'changed' | 'unknown';
  readonly appliedAt: string | null;
}

/**
 * Creates the database and applies the missing migrations. Only one runner works at a time; the others wait. A file is marked as
 * applied after its last statement, so after a kill the file is repeated from its first statement: every statement must be
 * idempotent (`IF NOT EXISTS`).
 */
export async function migrate(client: ClickHouseClient, options: MigrateOptions = {}): Promise<MigrationReport> {
  const files = await readMigrationFiles(options.directory ?? MIGRATIONS_DIRECTORY);
  await createDatabase(client, options);
  for (const query of bookkeepingTables(options)) await client.command({ query });
  const missing = missingFiles(files, await readApplied(client, options));
  if (missing.length === 0) return { applied: [], alreadyApplied: files.length };

  const lease = await takeLease(client, options);
  try {
    // Read again: another runner may have applied files while this one waited for the lease.
    const stillMissing = missingFiles(files, await readApplied(client, options));
    for (const file of stillMissing) {
      await applyFile(client, file, options, () => lease.assertHeld());
    }
    return { applied: stillMissing.map((file) => file.name), alreadyApplied: files.length - stillMissing.length };
  } finally {
    await lease.release();
  }
}

/** The state of every migration. Changes nothing. */
export async function migrationStatus(
  client: ClickHouseClient,
  options: Omit<MigrateOptions, 'onStatement'> = {},
): Promise<MigrationStatus[]> {
  const files = await readMigrationFiles(options.directory ?? MIGRATIONS_DIRECTORY);
  const applied = (await hasBeenMigrated(client)) ? await readApplied(client, options) : [];
  const byNumber = new Map(applied.map((migration) => [migration.number, migration]));
  const known = files.map((file): MigrationStatus => {
    const done = byNumber.get(file.number);
    const state = done === undefined ? 'pending' : done.checksum === file.checksum ? 'applied' : 'changed';
    return { number: file.number, name: file.name, state, appliedAt: done?.applied_at ?? null };
  });
  const unknown = applied
    .filter(({ number }) => number > files.length)
    .map(
      ({ number, name, applied_at }): MigrationStatus => ({ number, name, state: 'unknown', appliedAt: applied_at }),
    );
  return [...known, ...unknown];
}

/** The files that are not applied. Throws if an applied file has changed, because the schema is then unknown. */
function missingFiles(files: readonly MigrationFile[], applied: readonly AppliedMigration[]): MigrationFile[] {
  const byNumber = new Map(applied.map((migration) => [migration.number, migration]));
  const changed = files.find((file) => (byNumber.get(file.number)?.checksum ?? file.checksum) !== file.checksum);
  if (changed !== undefined) {
    const was = byNumber.get(changed.number)?.name;
    throw new Error(
      `migration ${changed.name} has changed since it was applied${was === changed.name ? '' : ` as ${was}`}; files are append-only: write a new one`,
    );
  }
  return files.filter((file) => !byNumber.has(file.number));
}

async function applyFile(
  client: ClickHouseClient,
  file: MigrationFile,
  options: MigrateOptions,
  assertLease: () => void,
): Promise<void> {
  for (const sql of splitStatements(renderMigration(file.text, options))) {
    assertLease();
    options.onStatement?.({ file: file.name, sql });
    try {
      await client.command({ query: sql });
    } catch (err) {
      throw new Error(`migration ${file.name} failed: ${err instanceof Error ? err.message : String(err)}`, {
        cause: err,
      });
    }
  }
  await client.command({
    query: 'INSERT INTO schema_migrations SELECT {number:UInt32}, {name:String}, {checksum:String}, now64(3)',
    query_params: { number: file.number, name: file.name, checksum: file.checksum },
    clickhouse_settings: writeSettings(options),
  });
}

/** Runs `work` with a client of the database `default`: every request names a database, and that of `client` may not exist yet. */
async function withServerClient<T>(
  client: ClickHouseClient,
  work: (server: ClickHouseClient) => Promise<T>,
): Promise<T> {
  const server = createClickHouseClient({ ...optionsOf(client), database: 'default', maxOpenConnections: 1 });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

async function createDatabase(client: ClickHouseClient, { cluster }: MigrateOptions): Promise<void> {
  const { database } = optionsOf(client);
  const query = renderMigration(`CREATE DATABASE IF NOT EXISTS {name:Identifier} \${cluster}`, { cluster });
  await withServerClient(client, (server) => server.command({ query, query_params: { name: database } }));
}

async function hasBeenMigrated(client: ClickHouseClient): Promise<boolean> {
  const { database } = optionsOf(client);
  const rows = await withServerClient(client, async (server) => {
    const result = await server.query({
      query: "SELECT name FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'",
      query_params: { name: database },
      format: 'JSONEachRow',
    });
    return result.json();
  });
  return rows.length > 0;
}
