import { createDataLoader } from '@waymark/cache';
import {
  type ClickHouseClient,
  type CompleteReplicas,
  findCompleteReplicas,
  type ReplicaRows,
  type ReplicaRowsRead,
  readReplicaRows,
} from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';

/** Limits the wait for a store that hangs, so that the claims of the request do not expire before its commit. */
const READ_MS_MAX = 5000;
const SETTINGS = { max_execution_time: READ_MS_MAX / 1000, optimize_use_projections: 0 } as const;

/** Reads rows by key, each as the texts of its columns. `parameters.workspace` must be the number of the workspace. */
export function readRows(
  clickhouse: ClickHouseClient,
  query: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<string[][]> {
  const workspaceId = formatResourceId('workspace', String(parameters.workspace));
  return clickhouse.rows<string[]>({
    query,
    parameters,
    settings: { log_comment: `POST /track workspace ${workspaceId}`, ...SETTINGS },
    signal: AbortSignal.timeout(READ_MS_MAX),
  });
}

/** Reads rows that a read of one replica has not found from all replicas of a cluster that answer, in one statement. */
export function readReplicas(
  clickhouse: ClickHouseClient,
  read: Pick<ReplicaRowsRead, 'cluster' | 'table' | 'columns' | 'key' | 'where' | 'parameters'>,
): Promise<ReplicaRows> {
  const signal = AbortSignal.timeout(READ_MS_MAX);
  return readReplicaRows(clickhouse, { ...read, settings: SETTINGS, signal });
}

/**
 * How long a replica must report an empty replication log before it counts as complete. The states of replicas are read before and after this
 * time, not in between.
 */
const COMPLETE_WAIT_MS = 1000;

/**
 * Creates a function that finds the replicas with all rows which were acknowledged before its call, within a second; undefined if a shard has
 * none. All calls that wait share the next search, and one runs at a time: four statements a second at most while replicas are behind.
 */
export function createReplicaCheck(clickhouse: ClickHouseClient, cluster: string, table: string) {
  const load = createDataLoader<string, CompleteReplicas>({
    identify: (name) => name,
    group: (name) => name,
    batchSizeMax: 1,
    concurrentReadsMax: 1,
    async load() {
      const signal = AbortSignal.timeout(READ_MS_MAX);
      const wait = { waitMs: COMPLETE_WAIT_MS, retryMs: COMPLETE_WAIT_MS, signal };
      const complete = await findCompleteReplicas(clickhouse, { cluster, table, ...wait });
      return new Map(complete === undefined ? [] : [[table, complete]]);
    },
  });
  return () => load(table);
}
