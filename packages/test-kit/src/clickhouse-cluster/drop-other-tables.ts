import type { ClickHouseClient } from '@waymark/clickhouse';

/** Events, their counts, and of records one table that is placed by workspace, one that is placed by a hash, and one that reports read. */
const KEPT =
  /_events$|^(?:link|customer)_totals$|^workspace_slots$|^link_days$|^click_aliases$|^names$|^links$|^workspaces$/;

/**
 * Drops the other tables of a cluster on all its nodes. A move of a logical shard takes a dozen statements for each table, so tests that need
 * several moves, but not every table, call this after those that do.
 *
 * @param alsoKept names of further tables to keep
 * @returns the number of tables that are left
 */
export async function dropOtherTables(
  client: ClickHouseClient,
  cluster: string,
  alsoKept: readonly string[] = [],
): Promise<number> {
  const found = await client.rows<[string]>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed' AND NOT startsWith(name, 'report_')`,
  });
  const others = found.map(([name]) => name).filter((name) => !KEPT.test(name) && !alsoKept.includes(name));
  for (const name of others.flatMap((table) => [table, `${table}_local`]))
    await client.command({ query: `DROP TABLE ${name} ON CLUSTER ${cluster}` });
  return found.length - others.length;
}
