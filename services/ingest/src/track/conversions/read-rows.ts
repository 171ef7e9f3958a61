import { type ClickHouseClient, findOnReplicas, MissingRowsError, type ReplicaRowsRead } from '@waymark/clickhouse';
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

/**
 * How long a request waits for a complete replica, before it is known that a row does not exist: a busy one, which always has inserts to fetch,
 * is known to have all from before the read after some six seconds.
 */
const REPLICA_WAIT_MS = 8000;

/**
 * Reads rows that a read of one replica has not found from all replicas of a cluster.
 *
 * @param keys of the rows
 * @returns for a key null, if it is not known whether its row exists; nothing if it does not exist
 */
export async function readReplicas(
  clickhouse: ClickHouseClient,
  read: Omit<ReplicaRowsRead, 'waitMs' | 'settings'>,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[] | null>> {
  try {
    return await findOnReplicas(clickhouse, { ...read, waitMs: REPLICA_WAIT_MS, settings: SETTINGS }, keys.length);
  } catch (err) {
    if (!(err instanceof MissingRowsError)) throw err;
    return new Map(keys.map((key) => [key, err.found.get(key) ?? null]));
  }
}
