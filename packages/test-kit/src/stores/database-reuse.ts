import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Directory with a file for each migrated database that is free for the next test. */
    keptDatabases: string;
  }
}

const KEPT = '.kept';

/** A migrated database that is free for the next test. */
export interface KeptDatabase {
  readonly database: string;
  /** The schema after the migrations, from `readSchema`. */
  readonly schema: string;
}

/** Takes a free database of the run, if there is one. It contains the rows of earlier tests; call `emptyTables`. */
export function takeDatabase(): KeptDatabase | undefined {
  const directory = inject('keptDatabases');
  for (const name of readdirSync(directory).filter((file) => file.endsWith(KEPT))) {
    const taken = join(directory, name.slice(0, -KEPT.length));
    try {
      // Only one process succeeds in renaming it.
      renameSync(join(directory, name), taken);
    } catch {
      continue;
    }
    return JSON.parse(readFileSync(taken, 'utf8'));
  }
  return undefined;
}

/** Makes a database free for the next test. The list is a directory of files, because several processes run tests. */
export function keepDatabase(database: KeptDatabase): void {
  const draft = join(inject('keptDatabases'), database.database);
  writeFileSync(draft, JSON.stringify(database));
  renameSync(draft, draft + KEPT);
}

/** The table of each mutation that is not from a migration. */
export const MUTATED_TABLES = String.raw`SELECT table FROM system.mutations
  WHERE database = currentDatabase() AND NOT match(command, '^\(?(MODIFY COLUMN|MATERIALIZE COLUMN)')`;

/**
 * The tables and views, the applied migrations, and the number of mutations that are not from migrations. A database is reused only
 * while these equal the state after the migrations: a mutation that removes rows leaves their blocks in the deduplication log, where
 * TRUNCATE does not find them, so the same rows could not be inserted again.
 */
export async function readSchema(client: ClickHouseClient): Promise<string> {
  const result = await client.query({
    query: `SELECT
      (SELECT arraySort(groupArray((name, create_table_query))) FROM system.tables WHERE database = currentDatabase()) AS tables,
      (SELECT arraySort(groupArray((number, checksum))) FROM schema_migrations) AS migrations,
      (SELECT count() FROM (${MUTATED_TABLES})) AS mutations`,
    format: 'TabSeparatedRaw',
  });
  return result.text();
}

/** Removes the rows of every table, and their blocks in the deduplication logs. */
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
