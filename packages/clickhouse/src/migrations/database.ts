import { ClickHouseError } from '@clickhouse/client';
import { type ClickHouseClient, createClickHouseClient, optionsOf } from '../client.js';
import { type RenderTarget, renderMigration } from './render.js';

/** ClickHouse's code for a database that does not exist. */
const UNKNOWN_DATABASE = '81';

/** A table or view of a database, with the UUID that ClickHouse gives to every table. */
export interface TableName {
  readonly name: string;
  readonly uuid: string;
}

/** Creates the client's database if it does not exist. Every request names an existing database, so this one names `default`. */
export async function createDatabase(client: ClickHouseClient, { cluster }: RenderTarget): Promise<void> {
  const options = optionsOf(client);
  const server = createClickHouseClient({ ...options, database: 'default', maxOpenConnections: 1 });
  try {
    await server.command({
      query: renderMigration(`CREATE DATABASE IF NOT EXISTS {name:Identifier} \${cluster}`, { cluster }),
      query_params: { name: options.database },
    });
  } finally {
    await server.close();
  }
}

/** The tables and views of the client's database; none if it does not exist. */
export async function listTables(client: ClickHouseClient): Promise<TableName[]> {
  try {
    const rows = await client.rows<[string, string]>({
      query: 'SELECT name, uuid FROM system.tables WHERE database = currentDatabase() ORDER BY name',
    });
    return rows.map(([name, uuid]) => ({ name, uuid }));
  } catch (err) {
    if (isUnknownDatabase(err)) return [];
    throw err;
  }
}

/** Whether a statement has failed because the database does not exist. */
export function isUnknownDatabase(err: unknown): boolean {
  const cause = err instanceof Error && err.cause !== undefined ? err.cause : err;
  return cause instanceof ClickHouseError && cause.code === UNKNOWN_DATABASE;
}
