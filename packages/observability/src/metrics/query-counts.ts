import type { QueryCaller, QueryReport } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import type { OpsLog } from '../ops-log.js';

/** Counts slow and failed queries of the API by endpoint, and logs them to `ops_slow_queries`. */
export interface QueryCounts {
  /** Counts a query, if it was slow or failed. */
  count(caller: QueryCaller, report: QueryReport): void;
  /** Numbers of slow queries by endpoint; 0 for one without any. */
  slow(): ReadonlyMap<string, number>;
  /** Numbers of failed queries by endpoint; 0 for one without any. */
  failed(): ReadonlyMap<string, number>;
}

/** From this duration on, a query counts as slow. */
const SLOW_MS = 1000;

const add = (counts: Map<string, number>, key: string, count: 0 | 1) => counts.set(key, (counts.get(key) ?? 0) + count);

/** Creates the counts of a process, which begin at 0. */
export function createQueryCounts({
  opsLog,
  now,
}: {
  readonly opsLog: Pick<OpsLog, 'add'>;
  readonly now: () => number;
}): QueryCounts {
  const slow = new Map<string, number>();
  const failed = new Map<string, number>();
  return {
    slow: () => slow,
    failed: () => failed,
    count({ endpoint, workspaceId }, { durationMs, readRows, readBytes, error }) {
      const isSlow = durationMs >= SLOW_MS;
      const isFailed = error !== '';
      // From 0 on: Prometheus does not see the growth of a counter to its first value.
      add(slow, endpoint, isSlow ? 1 : 0);
      add(failed, endpoint, isFailed ? 1 : 0);
      if (!isSlow && !isFailed) return;
      const workspace = parseResourceId('workspace', workspaceId) ?? '0';
      opsLog.add('ops_slow_queries', [now(), workspace, endpoint, Math.round(durationMs), readRows, readBytes, error]);
    },
  };
}
