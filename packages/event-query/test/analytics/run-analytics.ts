import { analyticsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import {
  type AnalyticsRow,
  type AnalyticsStats,
  allowedLinksStats,
  type BindScope,
  type BoundAnalytics,
  bindAnalytics,
  type CompiledQuery,
  type CountedGroup,
  countedGroups,
  firstNonEmptyRead,
  parseAnalytics,
  planAllowedLinks,
  planAnalytics,
  planAnalyticsRangeCount,
  planTotalCount,
  printAnalytics,
  printStats,
  type StatsPlan,
} from '../../src/index.js';
import { NOW } from '../world.js';

interface Answer {
  readonly request: BoundAnalytics;
  readonly groups: readonly CountedGroup[];
  readonly statements: readonly CompiledQuery[];
}

/** Reads groups like the query service: planner statistics first. The last parameter overrides them, and the age of the workspace. */
export async function groupsOf(
  database: TestDatabase,
  query: Record<string, string>,
  scope: BindScope,
  { sinceMs = NOW, ...stats }: AnalyticsStats & { readonly sinceMs?: number } = {},
): Promise<Answer> {
  // Remove the parameters of a page, which analytics refuses.
  const { page: _page, limit: _limit, sortOrder: _sortOrder, ...counting } = query;
  const parsed = parseAnalytics(analyticsQuerySchema.parse(counting), { nowMs: NOW, sinceMs });
  const request = bindAnalytics(parsed, scope);
  const statements: CompiledQuery[] = [];
  const run = async ({ sql, params, settings }: CompiledQuery) => {
    statements.push({ sql, params, settings });
    const result = await database.client.query({
      query: sql,
      query_params: params,
      format: 'JSONCompactEachRow',
      clickhouse_settings: settings as Record<string, string>,
    });
    return result.json<AnalyticsRow>();
  };
  const bound = firstNonEmptyRead(request);
  if (bound === undefined) return { request, groups: [], statements };
  const sum = async (read: StatsPlan | undefined) =>
    read === undefined ? undefined : Number((await run(printStats(read)))[0]?.[0]);
  const rangeEventsMax = await sum(planAnalyticsRangeCount(request, stats));
  const eventsEver = await sum(planTotalCount(bound));
  const links = planAllowedLinks(bound, stats.rangeEventsMax ?? eventsEver ?? 0);
  const found = links && allowedLinksStats((await run(printStats(links))).map(([id = '']) => BigInt(id)));
  const plan = planAnalytics(request, { rangeEventsMax, ...stats, ...found });
  const groups = plan === undefined ? [] : countedGroups(request, await run(printAnalytics(plan)));
  return { request, groups, statements };
}
