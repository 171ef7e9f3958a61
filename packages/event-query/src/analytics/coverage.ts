import { type BoundFilters, EVENT_MS_MAX } from '../bind/bind.js';
import { type PlannerStats, planEventCount, type StatsPlan } from '../plan/planner-stats.js';
import type { Condition } from '../sql/sql-nodes.js';
import { type Bounds, SLOT_MS } from '../sql/time-conditions.js';
import { type AnalyticsStats, firstNonEmptyRead } from './analytics-stats.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { groupsByLink } from './groupings.js';

/** How a range is read: which part comes from a roll-up table, and which parts of the event table are added to or subtracted from it. */
export interface Coverage {
  readonly rollUp:
    | (Bounds & { readonly table: 'workspace_slots' })
    /** Totals of all time: the range must have no lower bound. */
    | { readonly table: 'link_totals' }
    | undefined;
  readonly added: readonly Bounds[];
  readonly subtracted: readonly Bounds[];
}

/** Whether a condition tests nothing but the link of an event, so that it can be applied to `link_totals` too. */
function isOnLink(condition: Condition): boolean {
  switch (condition.type) {
    case 'in':
      return condition.column === 'link_id';
    case 'inRead':
      return condition.columns.length === 1 && condition.columns[0] === 'link_id';
    case 'not':
      return isOnLink(condition.of);
    default:
      return false;
  }
}

/**
 * If the removed links are too many to list, the roll-up is used only for ranges with more events than this. Below, scanning all
 * events is cheaper than finding and subtracting those of removed links (109 ms for 2.7 million).
 */
const WORTH_SUBTRACTING_EVENTS = 2_500_000;

/** Planning the union of a roll-up and the events at both ends of the range costs as much as scanning this many events. */
const CHEAP_EVENTS = 150_000;
/** Assumption about a workspace: its events are spread evenly over this time. It is only used to choose between plans. */
const SPREAD_MS = 180 * 86_400_000;

/** Whether the events in the range are so few that scanning them is cheaper than a union: 12 instead of 19 ms for 30 days. */
function areCheapToScan({ fromMs, toMs }: Bounds, { kindEvents }: AnalyticsStats): boolean {
  if (kindEvents === undefined) return false;
  const share = fromMs === undefined ? 1 : Math.min(1, (toMs - fromMs) / SPREAD_MS);
  return kindEvents * share <= CHEAP_EVENTS;
}

/** Whether the roll-up `workspace_slots` has everything that the request needs. */
function canUseSlots({ grouping, timeline }: BoundAnalytics, bound: BoundFilters): boolean {
  if (bound.conditions.length > 0 || bound.allowedLinks !== undefined) return false;
  // Historical zone offsets need not be a multiple of 15 minutes.
  const isAligned = timeline?.starts.slice(1).every((start) => start % SLOT_MS === 0) ?? true;
  return isAligned && (grouping === 'count' || grouping === 'timeseries');
}

/** Reads whole 15-minute slots from the roll-up and the partial slots at both ends from the events: 13 instead of 54 ms for 90 days. */
function slotCoverage({ fromMs, toMs }: Bounds): Coverage {
  const first = fromMs === undefined ? undefined : Math.ceil(fromMs / SLOT_MS) * SLOT_MS;
  const end = Math.floor((toMs + 1) / SLOT_MS) * SLOT_MS;
  if ((first ?? 0) >= end) return { rollUp: undefined, added: [{ fromMs, toMs }], subtracted: [] };
  const head = fromMs !== undefined && first !== undefined && fromMs < first ? [{ fromMs, toMs: first - 1 }] : [];
  const tail = end <= toMs ? [{ fromMs: end, toMs }] : [];
  return {
    rollUp: { table: 'workspace_slots', fromMs: first, toMs: end - 1 },
    added: [...head, ...tail],
    subtracted: [],
  };
}

/** Whether the roll-up `link_totals` has everything that the request needs, except that it includes events after the range. */
function canUseLinkTotals({ grouping, timeline }: BoundAnalytics, bound: BoundFilters): boolean {
  if (bound.fromMs !== undefined || timeline !== undefined || !bound.conditions.every(isOnLink)) return false;
  return grouping === 'count' || groupsByLink(grouping);
}

/** Chooses the tables that cover the range. */
export function coverageOf(request: BoundAnalytics, bound: BoundFilters, stats: AnalyticsStats): Coverage {
  const { fromMs, toMs } = bound;
  const canSubtractRemoved = stats.hasRemovedLinks === false || stats.removedLinks !== undefined;
  const isRollUpCheaper =
    canSubtractRemoved || (stats.rangeEventsMax ?? WORTH_SUBTRACTING_EVENTS) >= WORTH_SUBTRACTING_EVENTS;
  const scan: Coverage = { rollUp: undefined, added: [{ fromMs, toMs }], subtracted: [] };
  if (canUseSlots(request, bound)) {
    if (areCheapToScan(bound, stats)) return scan;
    if (isRollUpCheaper) return slotCoverage(bound);
  }
  if (stats.eventsExpire || !canUseLinkTotals(request, bound)) return scan;
  const later = toMs < EVENT_MS_MAX ? [{ fromMs: toMs + 1, toMs: EVENT_MS_MAX }] : [];
  return { rollUp: { table: 'link_totals' }, added: [], subtracted: later };
}

/**
 * Plans the count of all events of the kind in the workspace; undefined if {@link coverageOf} does not depend on it. An outdated count is
 * good enough.
 */
export function planKindCount(request: BoundAnalytics): StatsPlan | undefined {
  const bound = firstNonEmptyRead(request);
  if (bound === undefined || !canUseSlots(request, bound)) return undefined;
  return planEventCount({ ...bound, fromMs: undefined, toMs: EVENT_MS_MAX });
}

/** Plans the count of the events in the range; undefined if {@link coverageOf} does not depend on it. */
export function planAnalyticsRangeCount(request: BoundAnalytics, stats: PlannerStats): StatsPlan | undefined {
  const bound = firstNonEmptyRead(request);
  if (bound === undefined) return undefined;
  const hasUnlistedRemovedLinks = stats.hasRemovedLinks === true && stats.removedLinks === undefined;
  return hasUnlistedRemovedLinks && canUseSlots(request, bound) ? planEventCount(bound) : undefined;
}
