import type { ClickHouseClient } from '../client.js';
import { assertReplicated } from '../shards/replica-paths.js';
import { recordApplied, runStatements } from './apply-file.js';
import {
  type AppliedMigration,
  bookkeepingNames,
  bookkeepingTables,
  MIGRATIONS_TABLE,
  MOVE_TABLE,
  readApplied,
} from './bookkeeping.js';
import { createDatabase, listTables } from './database.js';
import { MIGRATIONS_DIRECTORY, type MigrationFile, readMigrationFiles } from './migration-files.js';
import { takeSchemaLease } from './schema-lease.js';

/** Options of {@link migrate} and {@link migrationStatus}. */
export interface MigrateOptions {
  /** Directory of the files; by default `clickhouse/migrations` of the repository. */
  readonly directory?: string | undefined;
  /** Name of the cluster in `system.clusters`; by default a single node. */
  readonly cluster?: string | undefined;
}

/** What {@link migrate} has done. */
export interface MigrationReport {
  /** Names of the files applied by this run. */
  readonly applied: readonly string[];
  readonly alreadyApplied: number;
}

/** The state of one migration. */
export interface MigrationStatus {
  readonly number: number;
  readonly name: string;
  /** `changed`: its file has changed since it was applied. `unknown`: applied by a newer release, without a file here. */
  readonly state: 'applied' | 'pending' | 'changed' | 'unknown';
  readonly appliedAt: string | null;
}

/**
 * Creates the database and applies the missing migrations. With nothing to do it sends no statement that changes a schema, because such a
 * statement fails while a server of a cluster is away. Only one runner works at a time; the others wait. A file is recorded as applied after
 * its last statement, so after a kill the file is repeated from its first statement: every statement must be idempotent (`IF NOT EXISTS`).
 *
 * @throws Error when an applied file has changed, a statement fails, the database holds an unfinished move, or servers of a shard have tables that
 *   are no replicas of each other
 */
export async function migrate(client: ClickHouseClient, options: MigrateOptions = {}): Promise<MigrationReport> {
  const files = await readMigrationFiles(options.directory ?? MIGRATIONS_DIRECTORY);
  if (await isMigrated(client, files, options)) return { applied: [], alreadyApplied: files.length };
  await createDatabase(client, options);
  for (const query of bookkeepingTables(options)) await client.command({ query });
  const missing = missingFiles(files, await readApplied(client, options));
  if (missing.length === 0) return { applied: [], alreadyApplied: files.length };

  const lease = await takeSchemaLease(client, options);
  try {
    // Read again: another runner may have applied files while this one waited for the lease.
    const stillMissing = missingFiles(files, await readApplied(client, options));
    if (stillMissing.length > 0) await refuseUnfinishedMove(client);
    for (const file of stillMissing) {
      await runStatements(client, file, { cluster: options.cluster, lease });
      // Before the last file is recorded, so that a repetition checks it again.
      if (options.cluster !== undefined && file === stillMissing.at(-1))
        await assertReplicated(client, { cluster: options.cluster });
      await recordApplied(client, file, options);
    }
    return { applied: stillMissing.map((file) => file.name), alreadyApplied: files.length - stillMissing.length };
  } finally {
    await lease.release();
  }
}

/** Whether the tables of the runner exist and every file is applied. @throws Error when an applied file has changed */
async function isMigrated(
  client: ClickHouseClient,
  files: readonly MigrationFile[],
  options: MigrateOptions,
): Promise<boolean> {
  const names = new Set((await listTables(client)).map(({ name }) => name));
  if (!bookkeepingNames(options).every((name) => names.has(name))) return false;
  return missingFiles(files, await readApplied(client, options)).length === 0;
}

/** The state of every migration. Changes nothing. */
export async function migrationStatus(
  client: ClickHouseClient,
  options: MigrateOptions = {},
): Promise<MigrationStatus[]> {
  const files = await readMigrationFiles(options.directory ?? MIGRATIONS_DIRECTORY);
  const tables = await listTables(client);
  const hasBeenMigrated = tables.some(({ name }) => name === MIGRATIONS_TABLE);
  const applied = hasBeenMigrated ? await readApplied(client, options) : [];
  const byNumber = new Map(applied.map((migration) => [migration.number, migration]));
  const known = files.map((file): MigrationStatus => {
    const done = byNumber.get(file.number);
    const state = done === undefined ? 'pending' : done.checksum === file.checksum ? 'applied' : 'changed';
    return { number: file.number, name: file.name, state, appliedAt: done?.appliedAt ?? null };
  });
  const unknown = applied
    .filter(({ number }) => number > files.length)
    .map(({ number, name, appliedAt }): MigrationStatus => ({ number, name, state: 'unknown', appliedAt }));
  return [...known, ...unknown];
}

/** Refuses a database that a move has filled only in part: its views are missing, so events would not be counted. */
async function refuseUnfinishedMove(client: ClickHouseClient): Promise<void> {
  const tables = await listTables(client);
  if (!tables.some(({ name }) => name === MOVE_TABLE)) return;
  throw new Error(
    'this database holds an unfinished move: finish it with `npx waymark move`, or drop the database to give it up',
  );
}

/** The files that are not applied. @throws Error when an applied file has changed, because the schema is then unknown */
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
