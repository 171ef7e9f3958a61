import {
  type ClickHouseClient,
  countExpired,
  type DeletionReport,
  deleteExpired,
  type ExpiredCounts,
  type WorkspaceRetention,
} from '@waymark/clickhouse';
import { takeLease } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { numberOf } from '../model/entity-type.js';
import type { WorkspaceRecord } from '../model/record-schemas.js';

/** Whether events may be missing that the counters of links include, because the workspace deletes old events, or once did. */
export function haveEventsExpired({ eventRetentionDays }: WorkspaceRecord): boolean {
  return eventRetentionDays !== undefined;
}

/** The retention of those workspaces that have set one. A workspace that cannot be read is left out: nothing of it is deleted. */
function rulesOf(workspaces: readonly WorkspaceRecord[]): WorkspaceRetention[] {
  return workspaces.flatMap(({ id, eventRetentionDays, addressRetentionDays }) => {
    const [eventDays, addressDays] = [eventRetentionDays ?? undefined, addressRetentionDays ?? undefined];
    return eventDays === undefined && addressDays === undefined
      ? []
      : [{ workspace: numberOf('workspace', id), eventDays, addressDays }];
  });
}

/** What a run of the retention of workspaces needs. */
export interface RetentionRun {
  readonly workspaces: { listReadable(): Promise<{ readonly records: readonly WorkspaceRecord[] }> };
  readonly clickhouse: ClickHouseClient;
  readonly redis: Redis;
  readonly cluster?: string | undefined;
  readonly nowMs: number;
  /** Ends the run, unless it has begun to start deletions. */
  readonly signal?: AbortSignal | undefined;
}

/** What a run has found and started. */
export type RetentionReport = Pick<ExpiredCounts, 'counts' | 'uncounted'> & DeletionReport;

/**
 * Counts the rows and addresses that have expired by the retention of their workspace (docs/privacy.md). Changes nothing.
 *
 * @throws the first error of ClickHouse or the connection
 */
export async function countExpiredRows({
  workspaces,
  clickhouse,
  nowMs,
}: Omit<RetentionRun, 'redis' | 'cluster'>): Promise<Pick<ExpiredCounts, 'counts' | 'uncounted'>> {
  const { failed, ...expired } = await countExpired(clickhouse, rulesOf((await workspaces.listReadable()).records), {
    nowMs,
  });
  for (const { err } of failed) throw err;
  return expired;
}

/**
 * Starts the deletion of rows and addresses that have expired by the retention of their workspace (docs/privacy.md). It holds a lease, so
 * that only one process does this at a time.
 *
 * @returns undefined, and nothing has changed, while another process has the lease, or when the lease was lost because Redis did not answer
 */
export async function applyWorkspaceRetention(run: RetentionRun): Promise<RetentionReport | undefined> {
  const { workspaces, clickhouse, redis, cluster, nowMs, signal } = run;
  const lease = await takeLease(redis, 'retention:turn');
  return lease?.during(async (lost) => {
    const currentRules = async () => rulesOf((await workspaces.listReadable()).records);
    const { counts, uncounted, failed } = await countExpired(clickhouse, await currentRules(), { nowMs, signal });
    // Read again: counting may take minutes, and an operator may have kept more meanwhile.
    const rules = await currentRules();
    signal?.throwIfAborted();
    if (lost.aborted) return undefined;
    const report = await deleteExpired(clickhouse, rules, { counts, uncounted }, { cluster, nowMs });
    return { ...report, counts, uncounted, failed: [...failed, ...report.failed] };
  });
}
