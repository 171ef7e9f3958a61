import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Directory with a file for each migrated database that no test uses. */
    keptDatabases: string;
  }
}

const KEPT = '.kept';

/** A migrated database that no test uses at the moment. */
export interface KeptDatabase {
  readonly database: string;
  /** What the migrations made, as `readSchema` reads it. */
  readonly schema: string;
}

/** A kept database of the run, if there is one. Its tables still hold the rows of the test before: `emptyTables`. */
export function takeDatabase(): KeptDatabase | undefined {
  const directory = inject('keptDatabases');
  for (const name of readdirSync(directory).filter((file) => file.endsWith(KEPT))) {
    const taken = join(directory, name.slice(0, -KEPT.length));
    try {
      // Only one process can rename it.
      renameSync(join(directory, name), taken);
    } catch {
      continue;
    }
    return JSON.parse(readFileSync(taken, 'utf8'));
  }
  return undefined;
}

/** Several processes run tests: the list of databases is a directory of the run, with a file for each. */
export function keepDatabase(database: KeptDatabase): void {
  const draft = join(inject('keptDatabases'), database.database);
  writeFileSync(draft, JSON.stringify(database));
  renameSync(draft, draft + KEPT);
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
