import { randomBytes } from 'node:crypto';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { inject } from 'vitest';
import { waitFor } from '../wait-for.js';
import { emptyTables, keepDatabase, takeDatabase } from './database-reuse.js';
import { makeTables, repairTables } from './database-template.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The embedded ClickHouse that the tests of the run share. It may still be starting; `createTestDatabase` waits for it. */
    sharedClickHouseUrl: string;
  }
}

/** A database for one test file. */
export interface TestDatabase {
  /** The URL of its server, with user and password if the server has them. */
  readonly url: string;
  readonly database: string;
  /** A client on the database, which `drop` closes. */
  readonly client: ClickHouseClient;
  /** Removes the database, or keeps it for the next test file. */
  drop(): Promise<void>;
}

/** Options of {@link createTestDatabase}. */
export interface TestDatabaseOptions {
  /** Default: the shared server of the run. */
  readonly url?: string;
  readonly user?: string;
  readonly password?: string;
  /** False leaves the database without tables. */
  readonly migrated?: boolean;
}

/**
 * Creates a database with every table and no rows, by default on the shared ClickHouse of the run. There, databases are reused:
 * `drop` restores the schema that a test has changed, and keeps the database for the next test file.
 */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { user, password, migrated = true } = options;
  const url = options.url ?? inject('sharedClickHouseUrl');
  const isReusable = migrated && options.url === undefined;
  const kept = isReusable ? takeDatabase() : undefined;
  const database = kept?.database ?? `test_${randomBytes(6).toString('hex')}`;
  const open = (name: string) => createClickHouseClient({ url, user, password, database: name });
  const client = open(database);
  async function createWithTables(): Promise<string> {
    const server = open('default');
    await server.command({ query: 'CREATE DATABASE {name:Identifier}', query_params: { name: database } });
    await server.close();
    return makeTables(client, database);
  }
  await waitFor(async () => (await client.ping()).success, { what: 'the ClickHouse of the tests' });
  let schema = kept?.schema;
  if (kept !== undefined) await emptyTables(client);
  else if (isReusable) schema = await createWithTables();
  else if (migrated) await migrate(client);
  return {
    url,
    database,
    client,
    async drop() {
      await client.close();
      const server = open('default');
      if (schema !== undefined && (await hasSchema(open(database), database, schema)))
        keepDatabase({ database, schema });
      else await server.command({ query: DROP, query_params: { name: database } });
      await server.close();
    },
  };
}

const DROP = 'DROP DATABASE IF EXISTS {name:Identifier} SYNC';

/** Whether the database has its first schema, or can be given it again. */
async function hasSchema(client: ClickHouseClient, database: string, schema: string): Promise<boolean> {
  const isRepaired = await repairTables(client, database, schema).catch(() => false);
  await client.close();
  return isRepaired;
}
