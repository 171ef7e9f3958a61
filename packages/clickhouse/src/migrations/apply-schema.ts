import type { ClickHouseClient } from '../client.js';
import { applyQueryLogView } from '../query-log-view.js';
import { applyRetention, type RetentionOptions } from '../retention/retention.js';
import { applyPlacement } from '../shards/apply-placement.js';
import { type MigrationReport, migrate } from './migrate.js';

/** What {@link applySchema} has done. */
export interface SchemaReport extends MigrationReport {
  /** Names of the tables that now follow the placement on shards. */
  readonly placed: readonly string[];
  /** The statements that have changed what expires. */
  readonly retention: readonly string[];
  /** Whether the view `ops_query_log` exists. */
  readonly hasQueryLogView: boolean;
}

/**
 * Applies the missing migrations, then what the settings say about the tables: placement, retention, the view of the query log. It can run at
 * every start.
 *
 * @throws the error of the step that fails
 */
export async function applySchema(client: ClickHouseClient, options: RetentionOptions): Promise<SchemaReport> {
  const { cluster } = options;
  const report = await migrate(client, { cluster });
  const placed = await applyPlacement(client, { cluster });
  const retention = await applyRetention(client, options);
  const hasQueryLogView = await applyQueryLogView(client, { cluster });
  return { ...report, placed, retention, hasQueryLogView };
}
