import type { EventKind } from '@waymark/contract';
import type { BoundFilters } from '../bind.js';
import { knownLinks, linkConditions, linkReadSettings } from '../link-reads.js';
import type { PlanFacts } from '../plan-facts.js';
import { type QuerySettings, READ_LIMITS } from '../read-limits.js';
import type { Condition, EventTable, Value } from '../sql-nodes.js';
import { dayTouches, happenedWithin, slotTouches } from '../time-conditions.js';
import type { AnalyticsPlan, Counted, GroupedRead, GroupKey, OwnerRead } from './analytics-plan.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { type Bounds, type Coverage, coverageOf } from './coverage.js';
import { GROUPING_RULES, type GroupingRule, MEASURES_OF, type Measure } from './groupings.js';

/** Most groups in an answer (spec 3.3). */
const GROUPS_MAX = 5000n;

const TABLES: Readonly<Record<EventKind, EventTable>> = {
  clicks: 'click_events',
  leads: 'lead_events',
  sales: 'sale_events',
};

const ROWS: Counted = { type: 'rows' };
const ZERO: Counted = { type: 'zero' };

/** How the rows of an event table count. */
const COUNTED: Readonly<Record<EventKind, Partial<Record<Measure, Counted>>>> = {
  clicks: { clicks: ROWS },
  leads: { leads: ROWS },
  sales: { sales: ROWS, sale_amount: { type: 'sum', column: 'amount' } },
};

/** What the reads of a request have in common. */
interface PlanParts {
  readonly rule: GroupingRule;
  readonly measures: readonly Measure[];
  readonly starts: Value | undefined;
  readonly facts: PlanFacts;
}

function keysOf({ rule, starts }: PlanParts, column: 'timestamp' | 'slot'): GroupKey[] {
  if (starts !== undefined) return [{ type: 'bucket', column, starts }];
  return rule.columns.map((name) => ({ type: 'column', column: name }));
}

function rawRead(parts: PlanParts, bound: BoundFilters, bounds: Bounds): GroupedRead {
  const where = [
    ...happenedWithin(bounds),
    ...bound.conditions,
    ...parts.rule.isGroup,
    ...linkConditions(bound, parts.facts),
  ];
  return {
    read: { table: TABLES[bound.kind], isFinal: false, workspace: bound.workspace, where },
    keys: keysOf(parts, 'timestamp'),
    counted: parts.measures.map((measure) => COUNTED[bound.kind][measure] ?? ZERO),
    isTakenAway: false,
  };
}

/** Rows of a roll-up are of several kinds of events: one without any of this kind would make a group of zeros. */
function hasAny(kind: EventKind): Condition {
  return { type: 'compare', column: kind, operator: '!=', value: { type: 'UInt64', value: 0n } };
}

function rolledUpRead(
  parts: PlanParts,
  bound: BoundFilters,
  { table, ...bounds }: NonNullable<Coverage['rolledUp']>,
): GroupedRead {
  const isByLink = table === 'link_days';
  const where = isByLink
    ? [...dayTouches(bounds), hasAny(bound.kind), ...bound.conditions, ...linkConditions(bound, parts.facts)]
    : slotTouches(bounds);
  const known = COUNTED[bound.kind];
  return {
    read: { table, isFinal: false, workspace: bound.workspace, where },
    keys: keysOf(parts, 'slot'),
    counted: parts.measures.map((measure) => (known[measure] === undefined ? ZERO : { type: 'sum', column: measure })),
    isTakenAway: false,
  };
}

/** `workspace_slots` counts the events of removed links as well: what those had is taken away. */
function removedRead(parts: PlanParts, bound: BoundFilters, bounds: Bounds): GroupedRead[] {
  if (bound.removedLinks === undefined || parts.facts.hasRemovedLinks === false) return [];
  const ofRemoved: Condition = { type: 'inRead', columns: ['link_id'], read: bound.removedLinks };
  const raw = rawRead(parts, bound, bounds);
  const where = [...happenedWithin(bounds), ofRemoved];
  return [{ ...raw, read: { ...raw.read, where }, isTakenAway: true }];
}

function readsOf(request: BoundAnalytics, parts: PlanParts, bound: BoundFilters): GroupedRead[] {
  const groupsByLink = parts.rule.columns.includes('link_id');
  const { rolledUp, raw } = coverageOf(request, bound, groupsByLink);
  const rawReads = raw.map((bounds) => rawRead(parts, bound, bounds));
  if (rolledUp === undefined) return rawReads;
  const removed = groupsByLink ? [] : removedRead(parts, bound, rolledUp);
  return [rolledUpRead(parts, bound, rolledUp), ...rawReads, ...removed];
}

function ownersOf({ owners }: GroupingRule, workspace: bigint): OwnerRead[] {
  return owners.map(({ table, column, isList }) => ({
    read: { table, isFinal: true, workspace, columns: ['id', column], where: [] },
    column,
    isList,
  }));
}

/** What the biggest groups are biggest in (spec 3.3). */
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

function settingsOf(
  { event, grouping, reads: bounds }: BoundAnalytics,
  facts: PlanFacts,
  reads: readonly GroupedRead[],
): QuerySettings {
  // Removed links are few beside the rest, and only their events are read.
  const links = reads.some(({ isTakenAway }) => isTakenAway) ? 0 : knownLinks(bounds[0], facts);
  return {
    ...READ_LIMITS,
    log_comment: `analytics ${event} ${grouping}`,
    ...linkReadSettings(
      links,
      reads.flatMap(({ read }) => read.where),
    ),
  };
}

/** Chooses tables, columns, order and settings of an answer; undefined when nothing can be counted. */
export function planAnalytics(request: BoundAnalytics, facts: PlanFacts = {}): AnalyticsPlan | undefined {
  const { event, grouping, timeline } = request;
  const rule = GROUPING_RULES[grouping];
  const starts: Value | undefined = timeline && {
    type: 'Array(Int64)',
    value: timeline.starts.map(BigInt),
  };
  const parts: PlanParts = {
    rule,
    measures: MEASURES_OF[event],
    starts,
    // What owns a link is found through the links that there are: removed ones drop out by themselves.
    facts: rule.owners.length === 0 ? facts : { ...facts, hasRemovedLinks: false },
  };
  const [first, ...others] = request.reads
    .filter(({ isEmpty }) => !isEmpty)
    .flatMap((bound) => readsOf(request, parts, bound));
  if (first === undefined) return undefined;
  const { workspace } = request.reads[0];
  return {
    workspace,
    reads: [first, ...others],
    measures: parts.measures,
    owners: ownersOf(rule, workspace),
    biggest: biggestBy(request),
    settings: settingsOf(request, facts, [first, ...others]),
  };
}
