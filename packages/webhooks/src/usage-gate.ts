import { type Catalog, workspaceLimits } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';

const KNOWN_MS = 60_000;
const READ_SECONDS_MAX = 10;

const EVENTS_SINCE = `
SELECT sum(clicks) + sum(leads) + sum(sales) FROM link_days
WHERE workspace_id = {workspace:UInt64} AND day >= {since:Date}`;

export interface UsageGateParts {
  readonly catalog: Catalog;
  readonly clickhouse: ClickHouseClient;
  readonly now: () => number;
}

/** Clicks are not told to workspaces that have used up their events of this month (spec 8.2), looked at once a minute. */
export function createUsageGate({ catalog, clickhouse, now }: UsageGateParts) {
  const known = new Map<string, { readonly isUsedUp: boolean; readonly untilMs: number }>();

  async function eventsThisMonth(workspaceId: string): Promise<number> {
    const result = await clickhouse.query({
      query: EVENTS_SINCE,
      query_params: {
        workspace: parseResourceId('workspace', workspaceId),
        since: `${new Date(now()).toISOString().slice(0, 7)}-01`,
      },
      format: 'JSONCompactEachRow',
      clickhouse_settings: { max_execution_time: READ_SECONDS_MAX, log_comment: 'webhooks' },
    });
    const [row] = await result.json<[string]>();
    return Number(row?.[0] ?? 0);
  }

  async function look(workspaceId: string): Promise<boolean> {
    const workspace = await catalog.workspaces.get(workspaceId);
    if (workspace === undefined) return true;
    const { eventsPerMonth } = workspaceLimits(workspace).quotas;
    return eventsPerMonth !== null && (await eventsThisMonth(workspaceId)) >= eventsPerMonth;
  }

  return {
    async isUsedUp(workspaceId: string): Promise<boolean> {
      const before = known.get(workspaceId);
      if (before !== undefined && before.untilMs > now()) return before.isUsedUp;
      const untilMs = now() + KNOWN_MS;
      const isUsedUp = await look(workspaceId);
      known.set(workspaceId, { isUsedUp, untilMs });
      return isUsedUp;
    },
  };
}
export type UsageGate = ReturnType<typeof createUsageGate>;
