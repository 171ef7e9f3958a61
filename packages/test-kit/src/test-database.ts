import { randomBytes } from 'node:crypto';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { inject } from 'vitest';
import { waitFor } from './wait-for.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The embedded ClickHouse that the run shares. It may still be starting: `createTestDatabase` waits for it. */
    sharedClickHouseUrl: string;
  }
}

export interface TestDatabase {
  readonly url: string;
  readonly database: string;
  readonly client: ClickHouseClient;
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Another server than the one the run shares. */
  readonly url?: string;
  readonly user?: string;
  readonly password?: string;
  /** False leaves the database without tables. */
  readonly migrated?: boolean;
}

/** A fresh database with every table, on the ClickHouse of the test run. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const url = options.url ?? inject('sharedClickHouseUrl');
  const database = `test_${randomBytes(6).toString('hex')}`;
  const client = createClickHouseClient({ url, user: options.user, password: options.password, database });
  await waitFor(async () => (await client.ping()).success, { what: 'the ClickHouse of the tests', timeoutMs: 30_000 });
  if (options.migrated ?? true) await migrate(client);
  return {
    url,
    database,
    client,
    async drop() {
      await client.close();
      const server = createClickHouseClient({
        url,
        user: options.user,
        password: options.password,
        database: 'default',
      });
      await server.command({
        query: 'DROP DATABASE IF EXISTS {name:Identifier} SYNC',
        query_params: { name: database },
      });
      await server.close();
    },
  };
}
