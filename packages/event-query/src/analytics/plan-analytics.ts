import { linkReadSettings } from '../plan/link-reads.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { Value } from '../sql/sql-nodes.js';
import type { AnalyticsPlan, GroupedRead, OwnerRead } from './analytics-plan.js';
import type { AnalyticsStats } from './analytics-stats.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { type ReadContext, readsOf } from './grouped-reads.js';
import { GROUPING_RULES, type GroupingRule, MEASURES_OF, type Measure } from './groupings.js';

/**
 * Up to this many links of a subquery are looked up in the projection, because all their events are read anyway: 29 instead of 39 ms of
 * CPU for the countries of a tag with 92 links, 16 instead of 27 for a partner.
 */
const SUBQUERY_LINKS_MAX = 2000;
/** Maximum number of groups in a response. */
const GROUPS_MAX = 5000n;
/** The same where 5000 groups are too large. A thousand of the longest URLs, those of imported clicks, have 32 MB. */
const LONG_GROUPS_MAX = 1000n;

function ownersOf({ owners }: GroupingRule, workspace: bigint): OwnerRead[] {
  return owners.map(({ table, column, isList }) => ({
    read: { table, isFinal: true, workspace, columns: ['id', column], where: [] },
    column,
    isList,
  }));
}

/** The measure to sort groups by. */
function topBy({ event, grouping }: BoundAnalytics): AnalyticsPlan['top'] {
  if (grouping === 'count' || grouping === 'timeseries') return undefined;
  const isByOwner = GROUPING_RULES[grouping].owners.length > 0;
  const by: Readonly<Record<typeof event, Measure>> = {
    clicks: 'clicks',
    leads: 'leads',
    sales: 'sale_amount',
    composite: isByOwner ? 'sale_amount' : 'clicks',
  };
  return { by: by[event], limit: GROUPS_MAX };
}

function settingsOf({ event, grouping }: BoundAnalytics, reads: readonly GroupedRead[]): QuerySettings {
  const links = reads.flatMap((read) => read.links ?? []);
  return {
    ...READ_LIMITS,
    log_comment: `analytics ${event} ${grouping}`,
    ...linkReadSettings(
      links.length === 0 ? undefined : Math.min(...links),
      reads.flatMap(({ read }) => read.where),
      { subqueryLinksMax: SUBQUERY_LINKS_MAX },
    ),
  };
}

/** Plans the query of an analytics request: tables, columns, order and settings. Undefined when no event can match. */
export function planAnalytics(request: BoundAnalytics, stats: AnalyticsStats = {}): AnalyticsPlan | undefined {
  const { event, grouping, timeline } = request;
  const rule = GROUPING_RULES[grouping];
  const starts: Value | undefined = timeline && {
    type: 'Array(Int64)',
    value: timeline.starts.map(BigInt),
  };
  const context: ReadContext = {
    rule,
    measures: MEASURES_OF[event],
    starts,
    // Joins to links drop removed links anyway, so their events need no separate condition.
    stats: rule.owners.length === 0 ? stats : { ...stats, hasRemovedLinks: false },
  };
  const [first, ...others] = readsOf(request, context);
  if (first === undefined) return undefined;
  const { workspace } = request.reads[0];
  return {
    workspace,
    reads: [first, ...others],
    measures: context.measures,
    owners: ownersOf(rule, workspace),
    top: topBy(request),
    settings: settingsOf(request, [first, ...others]),
  };
}

/** The plan for fewer groups, after ClickHouse has refused a result that is too large; undefined when the plan does not limit its groups. */
export function withFewerGroups({ top, ...plan }: AnalyticsPlan): AnalyticsPlan | undefined {
  return top && { ...plan, top: { ...top, limit: LONG_GROUPS_MAX } };
}
