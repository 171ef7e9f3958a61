import type { ClickHouseClient } from '@waymark/clickhouse';
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
