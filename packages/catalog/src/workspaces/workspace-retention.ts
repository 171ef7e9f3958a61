import {
  type ClickHouseClient,
  countExpired,
  deleteExpired,
  type ExpiredRows,
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

/** The retention of those workspaces that have set one. */
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
  readonly workspaces: { list(): Promise<readonly WorkspaceRecord[]> };
  readonly clickhouse: ClickHouseClient;
  readonly redis: Redis;
  readonly cluster?: string | undefined;
  readonly nowMs: number;
}

/** What a run has found and started. */
export interface RetentionReport {
  readonly counts: readonly ExpiredRows[];
  /** Tables for which mutations were started. */
  readonly changed: readonly string[];
  /** Tables with expired rows for which an earlier mutation must end first. */
  readonly waiting: readonly string[];
}

/** Counts the rows and addresses that have expired by the retention of their workspace (docs/privacy.md). Changes nothing. */
export async function countExpiredRows({
  workspaces,
  clickhouse,
  nowMs,
}: Omit<RetentionRun, 'redis' | 'cluster'>): Promise<readonly ExpiredRows[]> {
  return countExpired(clickhouse, rulesOf(await workspaces.list()), { nowMs });
}

/**
 * Starts the deletion of rows and addresses that have expired by the retention of their workspace (docs/privacy.md). It holds a lease, so
 * that only one process does this at a time.
 *
 * @returns undefined, and nothing has changed, while another process has the lease, or when the lease was lost because Redis did not answer
 */
export async function applyWorkspaceRetention(run: RetentionRun): Promise<RetentionReport | undefined> {
  const { workspaces, clickhouse, redis, cluster, nowMs } = run;
  const lease = await takeLease(redis, 'retention:turn');
  return lease?.during(async (lost) => {
    const rules = rulesOf(await workspaces.list());
    const counts = await countExpired(clickhouse, rules, { nowMs });
    if (lost.aborted) return undefined;
    return { counts, ...(await deleteExpired(clickhouse, rules, counts, { cluster, nowMs })) };
  });
}
