import { analyticsQuerySchema } from '@waymark/contract';
import type { TestDatabase } from '@waymark/test-kit';
import {
  type AnalyticsFacts,
  type AnalyticsRow,
  allowedLinksFact,
  type BindScope,
  type BoundAnalytics,
  bindAnalytics,
  type CompiledQuery,
  type CountedGroup,
  countedGroups,
  countedKind,
  type FactPlan,
  parseAnalytics,
  planAnalytics,
  planAnalyticsCount,
  planCountEver,
  planLinks,
  printAnalytics,
  printFact,
} from '../../src/index.js';
import { NOW } from '../world.js';

interface Answer {
  readonly request: BoundAnalytics;
  readonly groups: readonly CountedGroup[];
  readonly statements: readonly CompiledQuery[];
}

/** Asks for groups the way the query service does, facts first, as if there were so many events. */
export async function groupsOf(
  database: TestDatabase,
  query: Record<string, string>,
  scope: BindScope,
  { createdAtMs = NOW, ...facts }: AnalyticsFacts & { readonly createdAtMs?: number } = {},
): Promise<Answer> {
  // Of a request for a page, what counting has no use for, and refuses, is left out.
  const { page: _page, limit: _limit, sortOrder: _sortOrder, ...counting } = query;
  const parsed = parseAnalytics(analyticsQuerySchema.parse(counting), { nowMs: NOW, createdAtMs });
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
  const bound = countedKind(request);
  if (bound === undefined) return { request, groups: [], statements };
  const sum = async (fact: FactPlan | undefined) =>
    fact === undefined ? undefined : Number((await run(printFact(fact)))[0]?.[0]);
  const events = await sum(planAnalyticsCount(request, facts));
  const eventsEver = await sum(planCountEver(bound));
  const links = planLinks(bound, facts.events ?? eventsEver ?? 0);
  const found = links && allowedLinksFact((await run(printFact(links))).map(([id = '']) => BigInt(id)));
  const plan = planAnalytics(request, { events, ...facts, ...found });
  const groups = plan === undefined ? [] : countedGroups(request, await run(printAnalytics(plan)));
  return { request, groups, statements };
}
