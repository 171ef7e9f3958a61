import type { ClickHouseClient } from '@waymark/clickhouse';

/** By default ClickHouse looks for old parts every half a minute, and less often while it finds none. */
const REMOVED_AT_ONCE =
  'old_parts_lifetime = 0, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1';

/** Lets ClickHouse remove the files of rewritten parts within seconds, for tests of erasures, which wait for it. */
export async function removeOldPartsAtOnce(client: ClickHouseClient, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await client.command({ query: `ALTER TABLE ${table} MODIFY SETTING ${REMOVED_AT_ONCE}` });
    // Restarts the task that removes old parts, which otherwise still waits for the time of the earlier settings.
    for (const query of [`DETACH TABLE ${table}`, `ATTACH TABLE ${table}`]) await client.command({ query });
  }
}
