import { type BoundFilters, EVENT_MS_MAX } from '../bind/bind.js';
import { countEvents, type FactPlan, type PlanFacts } from '../plan/planner-stats.js';
import type { Condition } from '../sql/sql-nodes.js';
import { type Bounds, SLOT_MS } from '../sql/time-conditions.js';
import { type AnalyticsFacts, countedKind } from './analytics-facts.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { groupsByLink } from './groupings.js';

/** What is read from a roll-up, and what of the events is added to that or taken away from it. */
export interface Coverage {
  readonly rolledUp:
    | (Bounds & { readonly table: 'workspace_slots' })
    /** Sums since ever. */
    | { readonly table: 'link_totals' }
    | undefined;
  readonly added: readonly Bounds[];
  readonly takenAway: readonly Bounds[];
}

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
 * With fewer events it costs less to look at all of them (109 ms for 2.7 million) than to find those of removed links, when
 * these are too many to be listed.
 */
const MANY_EVENTS = 2_500_000;

/** Whether the quarters of an hour of a workspace say all that is asked for. */
export function isOfSlots({ grouping, timeline }: BoundAnalytics, bound: BoundFilters): boolean {
  if (bound.conditions.length > 0 || bound.allowedLinks !== undefined) return false;
  // A zone may have been off by odd minutes long ago.
  const isAligned = timeline?.starts.slice(1).every((start) => start % SLOT_MS === 0) ?? true;
  return isAligned && (grouping === 'count' || grouping === 'timeseries');
}

/** Whole quarters of an hour from the roll-up, the ragged ends from the events: 13 against 54 ms for 90 days. */
function slotCoverage({ fromMs, toMs }: Bounds): Coverage {
  const first = fromMs === undefined ? undefined : Math.ceil(fromMs / SLOT_MS) * SLOT_MS;
  const end = Math.floor((toMs + 1) / SLOT_MS) * SLOT_MS;
  if ((first ?? 0) >= end) return { rolledUp: undefined, added: [{ fromMs, toMs }], takenAway: [] };
  const head = fromMs !== undefined && first !== undefined && fromMs < first ? [{ fromMs, toMs: first - 1 }] : [];
  const tail = end <= toMs ? [{ fromMs: end, toMs }] : [];
  return {
    rolledUp: { table: 'workspace_slots', fromMs: first, toMs: end - 1 },
    added: [...head, ...tail],
    takenAway: [],
  };
}

/** Whether the counters of links say all that is asked for, events after the range apart. */
function isOfTotals({ grouping, timeline }: BoundAnalytics, bound: BoundFilters): boolean {
  if (bound.fromMs !== undefined || timeline !== undefined || !bound.conditions.every(isOnLink)) return false;
  return grouping === 'count' || groupsByLink(grouping);
}

/** What of the range is read where. */
export function coverageOf(request: BoundAnalytics, bound: BoundFilters, facts: AnalyticsFacts): Coverage {
  const { fromMs, toMs } = bound;
  const areKnown = facts.hasRemovedLinks === false || facts.removedLinks !== undefined;
  const isWorthIt = areKnown || (facts.events ?? MANY_EVENTS) >= MANY_EVENTS;
  if (isWorthIt && isOfSlots(request, bound)) return slotCoverage(bound);
  if (facts.eventsExpire || !isOfTotals(request, bound))
    return { rolledUp: undefined, added: [{ fromMs, toMs }], takenAway: [] };
  const later = toMs < EVENT_MS_MAX ? [{ fromMs: toMs + 1, toMs: EVENT_MS_MAX }] : [];
  return { rolledUp: { table: 'link_totals' }, added: [], takenAway: later };
}

/** How many events there are, where the plan depends on it. */
export function planAnalyticsCount(request: BoundAnalytics, facts: PlanFacts): FactPlan | undefined {
  const bound = countedKind(request);
  if (bound === undefined) return undefined;
  const areTooMany = facts.hasRemovedLinks === true && facts.removedLinks === undefined;
  return areTooMany && isOfSlots(request, bound) ? countEvents(bound) : undefined;
}
