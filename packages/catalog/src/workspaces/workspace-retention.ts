import { randomUUID } from 'node:crypto';
import {
  type ClickHouseClient,
  countExpired,
  deleteExpired,
  type ExpiredRows,
  type WorkspaceRetention,
} from '@waymark/clickhouse';
import { deleteIfEqual, keyPrefix } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { numberOf } from '../model/entity-type.js';
import type { WorkspaceRecord } from '../model/record-schemas.js';

/** Longer than counting and asking for mutations takes; a run that was killed delays the next one by as much. */
const LEASE_MS = 10 * 60_000;

/** Whether the workspace may lack events that the counters of its links include, because it keeps events for a time, or did. */
export function haveEventsExpired({ eventRetentionDays }: WorkspaceRecord): boolean {
  return eventRetentionDays !== undefined;
}

/** The workspaces that have limits of their own. */
function rulesOf(workspaces: readonly WorkspaceRecord[]): WorkspaceRetention[] {
  return workspaces.flatMap(({ id, eventRetentionDays, addressRetentionDays }) => {
    const [eventDays, addressDays] = [eventRetentionDays ?? undefined, addressRetentionDays ?? undefined];
    return eventDays === undefined && addressDays === undefined
      ? []
      : [{ workspace: numberOf('workspace', id), eventDays, addressDays }];
  });
}

export interface RetentionRun {
  readonly workspaces: { list(): Promise<readonly WorkspaceRecord[]> };
  readonly clickhouse: ClickHouseClient;
  readonly redis: Redis;
  readonly cluster?: string | undefined;
  readonly nowMs: number;
}

/** What a run has found and begun. */
export interface RetentionReport {
  readonly counts: readonly ExpiredRows[];
  /** Tables that are being rewritten. */
  readonly changed: readonly string[];
  /** Tables with expired rows that have to wait until an earlier mutation has ended. */
  readonly waiting: readonly string[];
}

/** Counts what workspaces should not have any more (docs/privacy.md). Changes nothing. */
export async function countExpiredRows({
  workspaces,
  clickhouse,
  nowMs,
}: Omit<RetentionRun, 'redis' | 'cluster'>): Promise<readonly ExpiredRows[]> {
  return countExpired(clickhouse, rulesOf(await workspaces.list()), { nowMs });
}

/**
 * Deletes what workspaces should not have any more (docs/privacy.md), under a lease, so that one process does it at a time.
 *
 * @returns undefined while another process has the lease
 */
export async function applyWorkspaceRetention(run: RetentionRun): Promise<RetentionReport | undefined> {
  const { workspaces, clickhouse, redis, cluster, nowMs } = run;
  const key = `${keyPrefix(redis)}waymark:retention:turn`;
  const owner = randomUUID();
  if ((await redis.set(key, owner, 'PX', LEASE_MS, 'NX')) === null) return undefined;
  try {
    const rules = rulesOf(await workspaces.list());
    const counts = await countExpired(clickhouse, rules, { nowMs });
    return { counts, ...(await deleteExpired(clickhouse, rules, counts, { cluster, nowMs })) };
  } finally {
    // A lease that cannot be released expires.
    await deleteIfEqual(redis, key, owner).catch(() => undefined);
  }
}
