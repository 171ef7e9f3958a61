import type { ClickHouseClient } from '../client.js';
import { applyPlacement } from '../shards/apply-placement.js';
import { recordApplied, runStatements } from './apply-file.js';
import { MIGRATIONS_DIRECTORY, readMigrationFiles } from './migration-files.js';
import type { RenderTarget } from './render.js';
import type { SchemaLease } from './schema-lease.js';

const MATERIALIZED_VIEW = /^(?:--[^\n]*\n\s*)*CREATE MATERIALIZED VIEW\b/i;
const isView = (sql: string) => MATERIALIZED_VIEW.test(sql);

/** Options of {@link createTables} and {@link createViews}. */
export interface PartOptions extends RenderTarget {
  /** The lease on the schema, which the caller holds. */
  readonly lease: SchemaLease;
}

/**
 * Applies the migrations without their materialized views, so that rows can be copied into the tables without being counted again. The
 * migrations are not recorded as applied before `createViews`, so until then no service uses the database.
 */
export async function createTables(client: ClickHouseClient, { cluster, lease }: PartOptions): Promise<void> {
  for (const file of await readMigrationFiles(MIGRATIONS_DIRECTORY)) {
    await runStatements(client, file, { cluster, lease, selects: (sql) => !isView(sql) });
  }
  await applyPlacement(client, { cluster });
}

/** Creates the materialized views that `createTables` has omitted, and records every migration as applied. */
export async function createViews(client: ClickHouseClient, { cluster, lease }: PartOptions): Promise<void> {
  const files = await readMigrationFiles(MIGRATIONS_DIRECTORY);
  for (const file of files) {
    await runStatements(client, file, { cluster, lease, selects: isView });
  }
  for (const file of files) await recordApplied(client, file, { cluster });
}
