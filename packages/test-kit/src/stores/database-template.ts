import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseClient, migrate } from '@waymark/clickhouse';
import { inject } from 'vitest';
import { waitFor } from '../wait-for.js';
import { readSchema } from './database-reuse.js';

/** The schema that the migrations make in a database, as statements that make it in another one. */
interface DatabaseTemplate {
  /** The database from which it was read. The statements contain its name. */
  readonly database: string;
  /** Groups of statements that need the groups before them: tables, views, materialized views. */
  readonly statements: readonly (readonly string[])[];
  readonly migrations: readonly unknown[];
  /** From `readSchema`. It contains the name of the database. */
  readonly schema: string;
}

const MIGRATE_MS_MAX = 110_000;

/**
 * Makes every table in an empty database, and returns its schema, from `readSchema`. The first database of a run is migrated. The others get
 * the tables that this one has then: that takes a quarter of the processor time of 130 statements of the migrations, half of which change
 * what earlier ones made.
 */
export async function makeTables(client: ClickHouseClient, database: string): Promise<string> {
  const file = join(inject('keptDatabases'), 'template.json');
  const making = `${file}.making`;
  const read = (): DatabaseTemplate | undefined =>
    existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  // A process removes the directory after it has written the file.
  const failure = () =>
    existsSync(making) || existsSync(file) ? undefined : 'the migrations have failed in another test file';
  const template =
    read() ??
    (isFirst(making)
      ? await makeTemplate(client, database, file, making)
      : await waitFor(read, { what: 'the first migrated database of the run', timeoutMs: MIGRATE_MS_MAX, failure }));
  if (template.database !== database) await copyTables(client, database, template);
  return template.schema.replaceAll(template.database, database);
}

/** Whether no other process makes the template. */
function isFirst(making: string): boolean {
  try {
    mkdirSync(making);
    return true;
  } catch {
    return false;
  }
}

async function makeTemplate(
  client: ClickHouseClient,
  database: string,
  file: string,
  making: string,
): Promise<DatabaseTemplate> {
  try {
    await migrate(client);
    const template = await templateOf(client, database);
    writeFileSync(`${file}.draft`, JSON.stringify(template));
    renameSync(`${file}.draft`, file);
    return template;
  } finally {
    // After an error the next test file tries it.
    rmdirSync(making);
  }
}

async function templateOf(client: ClickHouseClient, database: string): Promise<DatabaseTemplate> {
  const tables = await client.rows<[string, string]>({
    query: 'SELECT engine, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name',
  });
  const migrations = await client.query({ query: 'SELECT * FROM schema_migrations FINAL', format: 'JSONEachRow' });
  const groupOf = (engine: string) => ['View', 'MaterializedView'].indexOf(engine) + 1;
  return {
    database,
    statements: [0, 1, 2].map((group) =>
      tables.flatMap(([engine, statement]) => (groupOf(engine) === group ? [statement] : [])),
    ),
    migrations: await migrations.json(),
    schema: await readSchema(client),
  };
}

async function copyTables(client: ClickHouseClient, database: string, template: DatabaseTemplate): Promise<void> {
  for (const group of template.statements) {
    await Promise.all(
      group.map((statement) => client.command({ query: statement.replaceAll(template.database, database) })),
    );
  }
  await client.insert({ table: 'schema_migrations', values: [...template.migrations], format: 'JSONEachRow' });
}
