import type { ClickHouseClient } from '../client.js';
import { quoteIdentifier } from '../quote-identifier.js';
import { QUORUM_INSERT, SEQUENTIAL_READ } from '../rows/replicated.js';
import type { RenderTarget } from './render.js';

/**
 * The statement that creates a table of the migration runner. On a cluster, all nodes of all shards are replicas of one table: there is one
 * replication path, each write waits for a quorum, and reads see all acknowledged writes.
 */
function migrationTable(
  name: string,
  columns: string,
  versionColumn: string,
  orderBy: string,
  { cluster }: RenderTarget,
): string {
  const on = cluster === undefined ? '' : `ON CLUSTER ${quoteIdentifier(cluster)}`;
  const replicaPath = `'/clickhouse/tables/{database}/${name}', '{shard}-{replica}'`;
  const engine =
    cluster === undefined
      ? `ReplacingMergeTree(${versionColumn})`
      : `ReplicatedReplacingMergeTree(${replicaPath}, ${versionColumn})`;
  return `CREATE TABLE IF NOT EXISTS ${name} ${on} (${columns}) ENGINE = ${engine} ORDER BY ${orderBy}`;
}

/** The table that exists while `npx waymark move` moves another database into this one. */
export const MOVE_TABLE = 'schema_move';
/** The slices of a move; `is_copied` says whether the rows of a slice have been copied. */
export const MOVE_SLICES_TABLE = 'schema_move_slices';

/** Statements that create the two tables of a move. Idempotent. */
export function moveTables(target: RenderTarget): string[] {
  return [
    migrationTable(
      MOVE_TABLE,
      "source String, migrations UInt32, started_at DateTime64(3, 'UTC')",
      'started_at',
      'source',
      target,
    ),
    migrationTable(
      MOVE_SLICES_TABLE,
      [
        'table_name String, number UInt32, partition Array(String), above Array(String), up_to Array(String)',
        'rows UInt64, checksum UInt64, is_copied UInt8, version UInt64',
      ].join(', '),
      'version',
      '(table_name, number)',
      target,
    ),
  ];
}

/** The table with the placement of a cluster, that is the shard of each logical shard (packages/clickhouse/src/shards). */
export const SHARDS_TABLE = 'schema_shards';

/** The table with the applied migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';
const LEASES_TABLE = 'schema_migration_leases';

/** The names of the tables that {@link bookkeepingTables} creates. */
export function bookkeepingNames({ cluster }: RenderTarget): string[] {
  return [...(cluster === undefined ? [] : [SHARDS_TABLE]), MIGRATIONS_TABLE, LEASES_TABLE];
}

function shardTables(target: RenderTarget): string[] {
  if (target.cluster === undefined) return [];
  const columns =
    "logical UInt16, shard UInt16, other UInt16, step String, changed_at DateTime64(3, 'UTC'), version UInt64";
  return [migrationTable(SHARDS_TABLE, columns, 'version', 'logical', target)];
}

/** Statements that create the tables of the migration runner, and of a cluster's placement. Idempotent. */
export function bookkeepingTables(target: RenderTarget): string[] {
  return [
    ...shardTables(target),
    migrationTable(
      MIGRATIONS_TABLE,
      "number UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC')",
      'applied_at',
      'number',
      target,
    ),
    migrationTable(
      LEASES_TABLE,
      "owner String, expires_at DateTime64(3, 'UTC'), version UInt64",
      'version',
      'owner',
      target,
    ),
  ];
}

/** Settings of writes to these tables. On a cluster a write waits for a quorum, so that reads with {@link readSettings} see it. */
export function writeSettings({ cluster }: RenderTarget) {
  return cluster === undefined ? {} : QUORUM_INSERT;
}

/** Settings of reads of these tables. On a cluster such reads see all acknowledged writes. */
export function readSettings({ cluster }: RenderTarget) {
  return cluster === undefined ? {} : SEQUENTIAL_READ;
}

/** A row of `schema_migrations`. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly appliedAt: string;
}

/** The applied migrations, by number. */
export async function readApplied(client: ClickHouseClient, target: RenderTarget): Promise<AppliedMigration[]> {
  const rows = await client.rows<[number: number, name: string, checksum: string, appliedAt: string]>({
    query: 'SELECT number, name, checksum, applied_at FROM schema_migrations FINAL ORDER BY number',
    settings: readSettings(target),
  });
  return rows.map(([number, name, checksum, appliedAt]) => ({ number, name, checksum, appliedAt }));
}
