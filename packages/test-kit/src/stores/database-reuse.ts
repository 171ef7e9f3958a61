import type { ClickHouseClient } from '@waymark/clickhouse';

/** A migrated database that no test uses at the moment. */
export interface KeptDatabase {
  readonly url: string;
  readonly database: string;
  /** What the migrations made, as `readSchema` reads it. */
  readonly schema: string;
}

const KEPT = Symbol.for('waymark.test-kit.kept-databases');
const holder = globalThis as { [KEPT]?: KeptDatabase[] };

/** Of this process: the modules are evaluated again for every test file, so the list cannot lie in one. */
function keptDatabases(): KeptDatabase[] {
  holder[KEPT] ??= [];
  return holder[KEPT];
}

/** A kept database of the server, if there is one. Its tables still hold the rows of the test before: `emptyTables`. */
export function takeDatabase(url: string): KeptDatabase | undefined {
  const kept = keptDatabases();
  const index = kept.findIndex((database) => database.url === url);
  return index < 0 ? undefined : kept.splice(index, 1)[0];
}

export function keepDatabase(database: KeptDatabase): void {
  keptDatabases().push(database);
}

/**
 * The tables and views, the migrations that are applied, and the mutations that no migration makes. A database is kept only
 * while this is what the migrations left. A mutation that removes rows leaves their blocks in the deduplication log, where
 * truncating does not find them: the same rows could not be inserted again.
 */
export async function readSchema(client: ClickHouseClient): Promise<string> {
  const result = await client.query({
    query: `SELECT
      (SELECT arraySort(groupArray((name, create_table_query))) FROM system.tables WHERE database = currentDatabase()) AS tables,
      (SELECT arraySort(groupArray((number, checksum))) FROM schema_migrations) AS migrations,
      (SELECT count() FROM system.mutations
        WHERE database = currentDatabase() AND NOT match(command, '^\\(?(MODIFY COLUMN|MATERIALIZE COLUMN)')) AS mutations`,
    format: 'TabSeparatedRaw',
  });
  return result.text();
}

/** Removes the rows of every table, and their blocks from the deduplication logs. */
export async function emptyTables(client: ClickHouseClient): Promise<void> {
  const result = await client.query({
    query: `SELECT name FROM system.tables
      WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND NOT startsWith(name, 'schema_') AND total_rows > 0`,
    format: 'JSONEachRow',
  });
  const tables = await result.json<{ name: string }>();
  await Promise.all(
    tables.map(({ name }) => client.command({ query: 'TRUNCATE TABLE {name:Identifier}', query_params: { name } })),
  );
}
