import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseClient, migrate } from '@waymark/clickhouse';
import { inject } from 'vitest';
import { waitFor } from '../wait-for.js';
import { MUTATED_TABLES, readSchema } from './database-reuse.js';

/** A table or view. */
interface Table {
  readonly name: string;
  readonly engine: string;
  readonly statement: string;
}

/** The schema that the migrations make in a database, as statements that make it in another one. */
interface DatabaseTemplate {
  /** The database from which it was read. The statements contain its name. */
  readonly database: string;
  readonly tables: readonly Table[];
  readonly migrations: readonly unknown[];
  /** From `readSchema`. It contains the name of the database. */
  readonly schema: string;
}

const MIGRATE_MS_MAX = 110_000;
/** By engine, each needs those before it. All others are tables. */
const VIEWS = ['View', 'MaterializedView'];

const templateFile = () => join(inject('keptDatabases'), 'template.json');

/**
 * Makes every table in an empty database, and returns its schema, from `readSchema`. The first database of a run is migrated. The others get
 * the tables that this one has then: that takes a quarter of the processor time of 130 statements of the migrations, half of which change
 * what earlier ones made.
 */
export async function makeTables(client: ClickHouseClient, database: string): Promise<string> {
  const file = templateFile();
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

async function tablesOf(client: ClickHouseClient): Promise<Table[]> {
  const rows = await client.rows<[string, string, string]>({
    query:
      'SELECT name, engine, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name',
  });
  return rows.map(([name, engine, statement]) => ({ name, engine, statement }));
}

async function templateOf(client: ClickHouseClient, database: string): Promise<DatabaseTemplate> {
  const migrations = await client.query({ query: 'SELECT * FROM schema_migrations FINAL', format: 'JSONEachRow' });
  return {
    database,
    tables: await tablesOf(client),
    migrations: await migrations.json(),
    schema: await readSchema(client),
  };
}

async function copyTables(client: ClickHouseClient, database: string, template: DatabaseTemplate): Promise<void> {
  await createTables(client, tablesIn(database, template));
  await client.insert({ table: 'schema_migrations', values: [...template.migrations], format: 'JSONEachRow' });
}

/** The tables of a template as they are in another database. */
function tablesIn(database: string, template: DatabaseTemplate): Table[] {
  return template.tables.map((table) => ({
    ...table,
    statement: table.statement.replaceAll(template.database, database),
  }));
}

async function createTables(client: ClickHouseClient, tables: readonly Table[]): Promise<void> {
  for (const group of grouped(tables)) {
    await Promise.all(group.map(({ statement }) => client.command({ query: statement })));
  }
}

/** Tables, views and materialized views. */
function grouped(tables: readonly Table[]): Table[][] {
  return [-1, 0, 1].map((group) => tables.filter(({ engine }) => VIEWS.indexOf(engine) === group));
}

/**
 * Gives a database its schema again by dropping and creating only what a test has changed: tables and views with another definition, and
 * tables with mutations. What the test has added is dropped. A materialized view finds its tables by their names, so it stays.
 *
 * @param schema from `readSchema` when the database was made
 * @returns whether the database has its schema again: not after a change of the migrations table
 */
export async function repairTables(client: ClickHouseClient, database: string, schema: string): Promise<boolean> {
  if ((await readSchema(client)) === schema) return true;
  const template: DatabaseTemplate = JSON.parse(readFileSync(templateFile(), 'utf8'));
  const expected = tablesIn(database, template);
  const found = await tablesOf(client);
  const mutated = new Set((await client.rows<[string]>({ query: MUTATED_TABLES })).map(([name]) => name));
  const statements = new Map(found.map(({ name, statement }) => [name, statement]));
  const changed = expected.filter(({ name, statement }) => statements.get(name) !== statement || mutated.has(name));
  const names = new Set(expected.map(({ name }) => name));
  const added = found.filter(({ name }) => !names.has(name));
  for (const group of grouped([...changed, ...added]).reverse()) {
    await Promise.all(
      group.map(({ name }) =>
        client.command({ query: 'DROP TABLE IF EXISTS {name:Identifier} SYNC', query_params: { name } }),
      ),
    );
  }
  await createTables(client, changed);
  return (await readSchema(client)) === schema;
}
