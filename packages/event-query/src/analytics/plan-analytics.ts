import { linkReadSettings } from '../plan/link-reads.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { Value } from '../sql/sql-nodes.js';
import type { AnalyticsFacts } from './analytics-facts.js';
import type { AnalyticsPlan, GroupedRead, OwnerRead } from './analytics-plan.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { type ReadParts, readsOf } from './grouped-reads.js';
import { GROUPING_RULES, type GroupingRule, MEASURES_OF, type Measure } from './groupings.js';

/** Most groups in an answer. */
const GROUPS_MAX = 5000n;

function ownersOf({ owners }: GroupingRule, workspace: bigint): OwnerRead[] {
  return owners.map(({ table, column, isList }) => ({
    read: { table, isFinal: true, workspace, columns: ['id', column], where: [] },
    column,
    isList,
  }));
}

/** What the biggest groups are biggest in. */
function biggestBy({ event, grouping }: BoundAnalytics): AnalyticsPlan['biggest'] {
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
    ),
  };
}

/** Chooses tables, columns, order and settings of an answer; undefined when nothing can be counted. */
export function planAnalytics(request: BoundAnalytics, facts: AnalyticsFacts = {}): AnalyticsPlan | undefined {
  const { event, grouping, timeline } = request;
  const rule = GROUPING_RULES[grouping];
  const starts: Value | undefined = timeline && {
    type: 'Array(Int64)',
    value: timeline.starts.map(BigInt),
  };
  const parts: ReadParts = {
    rule,
    measures: MEASURES_OF[event],
    starts,
    // What owns a link is found through the links that there are: removed ones drop out by themselves.
    facts: rule.owners.length === 0 ? facts : { ...facts, hasRemovedLinks: false },
  };
  const [first, ...others] = readsOf(request, parts);
  if (first === undefined) return undefined;
  const { workspace } = request.reads[0];
  return {
    workspace,
    reads: [first, ...others],
    measures: parts.measures,
    owners: ownersOf(rule, workspace),
    biggest: biggestBy(request),
    settings: settingsOf(request, [first, ...others]),
  };
}
