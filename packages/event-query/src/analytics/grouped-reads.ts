import type { EventKind } from '@waymark/contract';
import type { BoundFilters } from '../bind/bind.js';
import { isOfRemovedLinks, linkConditions, linkCountOf } from '../plan/link-reads.js';
import type { Condition, EventTableName, Value } from '../sql/sql-nodes.js';
import { type Bounds, happenedWithin, slotOverlaps } from '../sql/time-conditions.js';
import type { Aggregate, GroupedRead, GroupKey } from './analytics-plan.js';
import type { AnalyticsStats } from './analytics-stats.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { type Coverage, coverageOf } from './coverage.js';
import type { GroupingRule, Measure } from './groupings.js';

const TABLES: Readonly<Record<EventKind, EventTableName>> = {
  clicks: 'click_events',
  leads: 'lead_events',
  sales: 'sale_events',
};

const ROWS: Aggregate = { type: 'rows' };
const ZERO: Aggregate = { type: 'zero' };

/** The measures of each event table. */
const AGGREGATES: Readonly<Record<EventKind, Partial<Record<Measure, Aggregate>>>> = {
  clicks: { clicks: ROWS },
  leads: { leads: ROWS },
  sales: { sales: ROWS, sale_amount: { type: 'sum', column: 'amount' } },
};

/** What all reads of a request have in common. */
export interface ReadContext {
  readonly rule: GroupingRule;
  readonly measures: readonly Measure[];
  /** Bucket starts of a time series, as a query parameter. */
  readonly starts: Value | undefined;
  readonly stats: AnalyticsStats;
}

/** The keys to group by: the bucket of a time series, or the columns of the grouping. */
function keysOf({ rule, starts }: ReadContext, column: 'timestamp' | 'slot'): GroupKey[] {
  if (starts !== undefined) return [{ type: 'bucket', column, starts }];
  return rule.columns.map((name) => ({ type: 'column', column: name }));
}

/** Counts the events in the bounds from the event table. */
function eventTableRead(context: ReadContext, bound: BoundFilters, bounds: Bounds): GroupedRead {
  const where = [...happenedWithin(bounds), ...bound.conditions, ...linkConditions(bound, context.stats)];
  return {
    read: { table: TABLES[bound.kind], isFinal: false, workspace: bound.workspace, where },
    keys: keysOf(context, 'timestamp'),
    having: context.rule.having,
    aggregates: context.measures.map((measure) => AGGREGATES[bound.kind][measure] ?? ZERO),
    links: linkCountOf(bound, context.stats),
    isSubtracted: false,
  };
}

type RollUp = NonNullable<Coverage['rollUp']>;

function rollUpWhere(bound: BoundFilters, rollUp: RollUp, stats: AnalyticsStats): readonly Condition[] {
  if (rollUp.table === 'workspace_slots') return slotOverlaps(rollUp);
  return [...bound.conditions, ...linkConditions(bound, stats)];
}

/** Reads several event kinds from a roll-up at once. Their filters are the same: a roll-up only supports filters that all kinds share. */
function rollUpRead(context: ReadContext, kinds: readonly BoundFilters[], rollUp: RollUp): GroupedRead[] {
  const [bound, ...others] = kinds;
  if (bound === undefined) return [];
  // Roll-up rows have the numbers of all kinds: exclude rows with none of this kind, which would give groups of zeros.
  const hasAny: Condition = {
    type: 'compare',
    column: bound.kind,
    operator: '!=',
    value: { type: 'UInt64', value: 0n },
  };
  const needsAny = others.length === 0 && rollUp.table === 'link_totals';
  const where = [...(needsAny ? [hasAny] : []), ...rollUpWhere(bound, rollUp, context.stats)];
  const isMeasured = (measure: Measure) => kinds.some(({ kind }) => AGGREGATES[kind][measure] !== undefined);
  return [
    {
      read: { table: rollUp.table, isFinal: false, workspace: bound.workspace, where },
      keys: keysOf(context, 'slot'),
      having: [],
      aggregates: context.measures.map((measure) => (isMeasured(measure) ? { type: 'sum', column: measure } : ZERO)),
      links: undefined,
      isSubtracted: false,
    },
  ];
}

/** `workspace_slots` includes the events of removed links; this read subtracts them. */
function removedRead(context: ReadContext, bound: BoundFilters, bounds: Bounds): GroupedRead[] {
  const ofRemoved = isOfRemovedLinks(bound, context.stats);
  if (ofRemoved === undefined) return [];
  const raw = eventTableRead(context, bound, bounds);
  const where = [...happenedWithin(bounds), ofRemoved];
  // `links: 0` selects the projection by link: removed links have few of all events, or the roll-up would not have been chosen.
  return [{ ...raw, read: { ...raw.read, where }, links: 0, isSubtracted: true }];
}

/** The reads of the event table of one kind. */
function eventReads(context: ReadContext, bound: BoundFilters, coverage: Coverage): GroupedRead[] {
  const { rollUp, added, subtracted } = coverage;
  return [
    ...added.map((bounds) => eventTableRead(context, bound, bounds)),
    ...subtracted.map((bounds) => ({ ...eventTableRead(context, bound, bounds), isSubtracted: true })),
    ...(rollUp?.table === 'workspace_slots' ? removedRead(context, bound, rollUp) : []),
  ];
}

/** All reads of a request. If all event kinds use the same roll-up, it is read once for all of them. */
export function readsOf(request: BoundAnalytics, context: ReadContext): GroupedRead[] {
  const covered = request.reads
    .filter(({ isEmpty }) => !isEmpty)
    .map((bound) => ({ bound, coverage: coverageOf(request, bound, context.stats) }));
  const rollUps = covered.flatMap(({ bound, coverage }) =>
    coverage.rollUp === undefined ? [] : { bound, rollUp: coverage.rollUp },
  );
  const [first] = rollUps;
  const isShared = first !== undefined && rollUps.length === covered.length;
  const rollUpReads = isShared
    ? rollUpRead(
        context,
        rollUps.map(({ bound }) => bound),
        first.rollUp,
      )
    : rollUps.flatMap((one) => rollUpRead(context, [one.bound], one.rollUp));
  return [...rollUpReads, ...covered.flatMap(({ bound, coverage }) => eventReads(context, bound, coverage))];
}
