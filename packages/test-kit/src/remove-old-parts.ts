import type { ClickHouseClient } from '@waymark/clickhouse';

/** ClickHouse looks for old parts every half a minute, and ever more seldom while it finds none. */
const REMOVED_AT_ONCE =
  'old_parts_lifetime = 0, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1';

/** Lets ClickHouse remove the files of rewritten parts within seconds, for tests of erasures, which wait for it. */
export async function removeOldPartsAtOnce(client: ClickHouseClient, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await client.command({ query: `ALTER TABLE ${table} MODIFY SETTING ${REMOVED_AT_ONCE}` });
    // Wakes the thread that removes old parts, which sleeps by the settings from before.
    for (const query of [`DETACH TABLE ${table}`, `ATTACH TABLE ${table}`]) await client.command({ query });
  }
}
