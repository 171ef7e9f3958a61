import { createTrackedCache } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import type { WorkspaceRecord } from '../model/record-schemas.js';
import { workspaceLimits } from './workspaces.js';

const WORKSPACES_MAX = 10_000;
/** Greatest age of a count that is not near its limit. Above the limit only reads are refused; events are always recorded. */
const TTL_MS = 30_000;
/** Greatest age of a count near its limit. */
const NEAR_TTL_MS = 1_000;
/** A count is near its limit if fewer than this many events, or than this share of the limit, are left. */
const NEAR_EVENTS = 10_000;
const NEAR_SHARE = 0.1;

/**
 * The events since a time that count as usage: all except imported ones and clicks on root links that had no destination. At least 0:
 * imported clicks of such a root link, or of one that was without destination at the import, are subtracted twice, and an erasure deletes
 * imported events, but does not change their number.
 *
 * All clicks since the time on a root link without destination that was last changed before are such clicks; they are counted by day, because
 * reading a million clicks takes a tenth of a second of processor time (test/bench/README.md). Clicks are read only of root links that were
 * changed or removed since the time. (The version of a record is 1 until its first change, then the time of the last one.) A click that an
 * erasure has anonymised has no URL either, and does not count if its root link is among these.
 */
const EVENTS_SINCE = `
SELECT greatest(toInt64(events) - toInt64(without_destination) - toInt64(recorded_without_destination) - toInt64(imported), 0) FROM
(
  SELECT sum(clicks) + sum(leads) + sum(sales) AS events FROM workspace_slots
  WHERE workspace_id = {workspace:UInt64} AND slot >= toDateTime({since:String}, 'UTC')
) AS all_events,
(
  SELECT sum(clicks) AS without_destination FROM link_days
  WHERE workspace_id = {workspace:UInt64} AND day >= toDate({since:String}) AND link_id IN (
    SELECT id FROM links FINAL WHERE workspace_id = {workspace:UInt64} AND key = '_root' AND url = ''
      AND version < toUnixTimestamp(toDateTime({since:String}, 'UTC')) * 1000
  )
) AS unchanged_roots,
(
  SELECT count() AS recorded_without_destination FROM click_events
  WHERE workspace_id = {workspace:UInt64} AND timestamp >= toDateTime64({since:String}, 3, 'UTC') AND url = '' AND link_id IN (
    SELECT id FROM links WHERE workspace_id = {workspace:UInt64} AND key = '_root' GROUP BY id
    HAVING max(version) >= toUnixTimestamp(toDateTime({since:String}, 'UTC')) * 1000
  )
) AS changed_roots,
(
  SELECT sum(events) AS imported FROM imported_counts FINAL
  WHERE workspace_id = {workspace:UInt64} AND month >= toDate({since:String})
) AS imported_ones`;

const FIRST_IMPORTED_MONTH = `
SELECT toUnixTimestamp(toDateTime(min(month), 'UTC')) FROM imported_counts WHERE workspace_id = {workspace:UInt64} HAVING count() > 0`;

/** The number of events of the calendar month (UTC), which plans limit (docs/reference/plans.md). */
export interface EventUsage {
  /**
   * The number of clicks, leads and sales, up to half a minute old.
   *
   * @param limit the limit to compare the count with; near it, the count is at most a second old
   */
  thisMonth(workspaceId: string, limit?: number): Promise<number>;
  /** When the first month (UTC) with imported events begins, epoch milliseconds; undefined if none were imported. */
  importedSinceMs(workspaceId: string): Promise<number | undefined>;
  /** @throws ApiError forbidden when the workspace has recorded more events this month than its plan includes */
  check(workspace: WorkspaceRecord): Promise<void>;
}

/** Whether a count is at its limit or just below. A count above the limit needs no fresh value, because counts of a month rarely decrease. */
function isNear(count: number, limit: number): boolean {
  return count <= limit && limit - count <= Math.max(NEAR_EVENTS, limit * NEAR_SHARE);
}

/** Creates an {@link EventUsage}. */
export function createEventUsage(
  clickhouse: ClickHouseClient,
  settings: Readonly<Record<string, number>>,
  now: () => number,
): EventUsage {
  const cache = createTrackedCache<number>({ bound: { entriesMax: WORKSPACES_MAX }, ttlMs: TTL_MS, now });

  async function read(workspaceId: string, month: string): Promise<number> {
    const rows = await queryRows<[string]>(clickhouse, {
      query: EVENTS_SINCE,
      parameters: { workspace: numberOf('workspace', workspaceId), since: `${month}-01 00:00:00` },
      settings,
    });
    return Number(rows[0]?.[0] ?? 0);
  }

  const thisMonth: EventUsage['thisMonth'] = async (workspaceId, limit) => {
    const month = new Date(now()).toISOString().slice(0, 7);
    // The month is part of the key: a count must not outlive it.
    const count = (maxAgeMs: number) => cache.load(`${workspaceId}/${month}`, () => read(workspaceId, month), maxAgeMs);
    const events = await count(TTL_MS);
    return limit !== undefined && isNear(events, limit) ? count(NEAR_TTL_MS) : events;
  };

  return {
    thisMonth,

    async importedSinceMs(workspaceId) {
      const rows = await queryRows<[number]>(clickhouse, {
        query: FIRST_IMPORTED_MONTH,
        parameters: { workspace: numberOf('workspace', workspaceId) },
        settings,
      });
      return rows[0] === undefined ? undefined : Number(rows[0][0]) * 1000;
    },

    async check(workspace) {
      const { eventsPerMonth } = workspaceLimits(workspace).quotas;
      if (eventsPerMonth === null || (await thisMonth(workspace.id, eventsPerMonth)) <= eventsPerMonth) return;
      const message = `This workspace has tracked more than the ${eventsPerMonth} events a month that its plan includes.`;
      throw new ApiError('forbidden', message);
    },
  };
}
