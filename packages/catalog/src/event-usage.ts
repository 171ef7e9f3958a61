import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { LRUCache } from 'lru-cache';
import { numberOf } from './kind.js';
import { queryRows } from './query-rows.js';
import type { WorkspaceRecord } from './records.js';
import { workspaceLimits } from './workspaces.js';

const WORKSPACES_KEPT = 10_000;
/** Recording never stops at the limit, so a count of this age is exact enough to refuse reads. */
const KNOWN_MS = 30_000;

/** Clicks on a domain without destination are none of the workspace's usage (spec 9). */
const EVENTS_SINCE = `
SELECT toInt64(events) - toInt64(placeholders) FROM
(
  SELECT sum(clicks) + sum(leads) + sum(sales) AS events FROM workspace_slots
  WHERE workspace_id = {workspace:UInt64} AND slot >= toDateTime({since:String}, 'UTC')
) AS all_events,
(
  SELECT sum(clicks) AS placeholders FROM link_days
  WHERE workspace_id = {workspace:UInt64} AND day >= toDate({since:String}) AND link_id IN (
    SELECT id FROM links FINAL WHERE workspace_id = {workspace:UInt64} AND key = '_root' AND url = ''
  )
) AS root_clicks`;

/** Tracked events of the calendar month (UTC), against what the plan includes. */
export interface EventUsage {
  /** Clicks, leads and sales; up to half a minute old. */
  thisMonth(workspaceId: string): Promise<number>;
  /** @throws ApiError forbidden when the workspace has tracked more than its plan includes (spec 1.10) */
  check(workspace: WorkspaceRecord): Promise<void>;
}

export function createEventUsage(
  clickhouse: ClickHouseClient,
  settings: Readonly<Record<string, number>>,
  now: () => number,
): EventUsage {
  // A key is a workspace and a month: a count must not outlive its month.
  const counts = new LRUCache<string, number>({
    max: WORKSPACES_KEPT,
    ttl: KNOWN_MS,
    async fetchMethod(key) {
      const [workspaceId = '', month = ''] = key.split('/');
      const rows = await queryRows<[string]>(clickhouse, {
        query: EVENTS_SINCE,
        parameters: { workspace: numberOf('workspace', workspaceId), since: `${month}-01 00:00:00` },
        settings,
      });
      return Number(rows[0]?.[0] ?? 0);
    },
  });

  const thisMonth: EventUsage['thisMonth'] = async (workspaceId) =>
    (await counts.fetch(`${workspaceId}/${new Date(now()).toISOString().slice(0, 7)}`)) ?? 0;

  return {
    thisMonth,
    async check(workspace) {
      const { eventsPerMonth } = workspaceLimits(workspace).quotas;
      if (eventsPerMonth === null || (await thisMonth(workspace.id)) <= eventsPerMonth) return;
      const message = `This workspace has tracked more than the ${eventsPerMonth} events a month that its plan includes.`;
      throw new ApiError('forbidden', message);
    },
  };
}
