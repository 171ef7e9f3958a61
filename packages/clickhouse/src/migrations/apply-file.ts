import type { ClickHouseClient } from '../client.js';
import { writeSettings } from './bookkeeping.js';
import type { MigrationFile } from './migration-files.js';
import { type RenderTarget, renderMigration } from './render.js';
import type { SchemaLease } from './schema-lease.js';
import { splitStatements } from './split-statements.js';

/** Options of {@link runStatements}. */
export interface StatementsRun extends RenderTarget {
  /** Checked before each statement. */
  readonly lease: SchemaLease;
  /** Whether to run a statement. Default: all. */
  readonly selects?: ((sql: string) => boolean) | undefined;
}

/** Runs the statements of a migration file, in order. @throws Error that names the file, or the error of the lease when it is lost */
export async function runStatements(
  client: ClickHouseClient,
  file: MigrationFile,
  { cluster, lease, selects = () => true }: StatementsRun,
): Promise<void> {
  for (const sql of splitStatements(renderMigration(file.text, { cluster })).filter(selects)) {
    lease.assertHeld();
    try {
      await client.command({ query: sql });
    } catch (err) {
      throw new Error(`migration ${file.name} failed: ${err instanceof Error ? err.message : String(err)}`, {
        cause: err,
      });
    }
  }
}

/** Records a migration file as applied. */
export async function recordApplied(
  client: ClickHouseClient,
  file: MigrationFile,
  target: RenderTarget,
): Promise<void> {
  await client.command({
    query: 'INSERT INTO schema_migrations SELECT {number:UInt32}, {name:String}, {checksum:String}, now64(3)',
    query_params: { number: file.number, name: file.name, checksum: file.checksum },
    clickhouse_settings: writeSettings(target),
  });
}
