import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { applyPlacement, type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { temporaryDirectory } from '../stores/temporary-directory.js';
import { REPLICAS } from './cluster-config.js';
import { startTestCluster } from './start-cluster.js';

/** What `system.replicas` of a server contains about its replica of a table; by default, the replica is complete. */
export interface ReplicaState {
  /** Inserts that it has not fetched yet. */
  readonly inserts?: number;
  /** The entry of the log that it takes next, and the last one. */
  readonly pointer?: number;
  readonly end?: number;
  readonly expired?: 0 | 1;
}

/** Sets what a server of a test cluster says about its replica of a table of events. @param shard of the server, from 1 */
export async function setReplicaState(
  server: ClickHouseClient,
  table: string,
  shard: number,
  { inserts = 0, pointer = 8, end = 7, expired = 0 }: ReplicaState,
): Promise<void> {
  await server.command({
    query: `ALTER TABLE ${REPLICAS} DELETE WHERE table = '${table}_local'`,
    clickhouse_settings: { mutations_sync: '1' },
  });
  await server.command({
    query: `INSERT INTO ${REPLICAS} (database, table, zookeeper_path, inserts_in_queue, log_pointer, log_max_index, is_session_expired)
      VALUES (currentDatabase(), '${table}_local', '/t/${table}/${shard}', ${inserts}, ${pointer}, ${end}, ${expired})`,
  });
}

/** Two replicas of one shard with the tables of events, between which nothing is transferred: a row is only where it was inserted. */
export interface TestReplicas {
  /** Name of the cluster in `system.clusters`. */
  readonly cluster: string;
  /** Reads and writes the first replica. */
  readonly first: ClickHouseClient;
  /** The same of the second one, on which tests insert what the first one lacks. */
  readonly second: ClickHouseClient;
  /** Sets the states of both replicas of a table, see {@link setReplicaState}. */
  setStates(table: string, ofFirst: ReplicaState, ofSecond: ReplicaState): Promise<void>;
  stop(): Promise<void>;
}

const MIGRATIONS = join(import.meta.dirname, '../../../../clickhouse/migrations');
/** Those that create tables of events, and what these need; all of them take half a minute. */
const OF_EVENTS = [
  '0001_click_events',
  '0002_lead_events',
  '0003_sale_events',
  '0008_workspaces',
  '0019_lead_metadata',
  '0020_sale_metadata',
  '0040_imports_of_events',
];

/** Starts {@link TestReplicas}. */
export async function startTestReplicas(): Promise<TestReplicas> {
  const nodes = await startTestCluster({ shards: 1, replicas: 2 });
  // Each client reads and writes its own replica, unless that is away.
  const [first, second] = nodes.databases.map((database, index) =>
    createClickHouseClient({
      url: nodes.url,
      database,
      settings: { load_balancing: 'first_or_random', load_balancing_first_offset: index },
    }),
  );
  if (first === undefined || second === undefined) throw new Error('the test cluster has not two nodes');
  const directory = temporaryDirectory('waymark-migrations-');
  for (const [index, name] of OF_EVENTS.entries())
    cpSync(
      join(MIGRATIONS, `${name}.sql`),
      join(directory, `${String(index + 1).padStart(4, '0')}_${name.slice(5)}.sql`),
    );
  await migrate(first, { cluster: nodes.cluster, directory });
  rmSync(directory, { recursive: true });
  await applyPlacement(first, nodes);
  return {
    cluster: nodes.cluster,
    first,
    second,
    async setStates(table, ofFirst, ofSecond) {
      await setReplicaState(first, table, 1, ofFirst);
      await setReplicaState(second, table, 1, ofSecond);
    },
    async stop() {
      await Promise.all([first.close(), second.close()]);
      await nodes.stop();
    },
  };
}
