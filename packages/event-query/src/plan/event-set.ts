import { eventIdTime } from '@waymark/contract';
import type { BoundFilters } from '../bind/bind.js';
import { anyOf, NOTHING } from '../sql/conditions.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { Condition, TableRead } from '../sql/sql-nodes.js';
import { happenedWithin, SLOT_MS } from '../sql/time-conditions.js';
import { linkConditions, linkReadSettings } from './link-reads.js';
import { SHAPES } from './plan.js';
import type { PlannerStats } from './planner-stats.js';

/** Filters of one kind of event, and the planner statistics for them. */
export interface EventSetFilters {
  readonly bound: BoundFilters;
  readonly stats: PlannerStats;
}

/** The query for events with certain ids. */
export interface EventSetPlan {
  readonly read: TableRead;
  /** Columns after those of the read, one for each filter: whether the event passes it. Empty for a single filter, which is in `where`. */
  readonly matches: readonly Condition[];
  readonly settings: QuerySettings;
}

/** Events whose times differ by less than this are looked up in one range of time. */
const GAP_MS_MIN = SLOT_MS;
/** How many ranges of time one query may have. */
const RANGES_MAX = 8;

interface TimedId {
  readonly id: string;
  readonly timeMs: number;
}

/** Splits events, which are in the order of time, at the longest gaps between them. */
function ranges(events: readonly TimedId[]): TimedId[][] {
  const gapBefore = (index: number) => (events[index]?.timeMs ?? 0) - (events[index - 1]?.timeMs ?? 0);
  const starts = [...events.keys()]
    .filter((index) => index > 0 && gapBefore(index) > GAP_MS_MIN)
    .sort((one, other) => gapBefore(other) - gapBefore(one))
    .slice(0, RANGES_MAX - 1)
    .sort((one, other) => one - other);
  return [0, ...starts].map((start, index) => events.slice(start, starts[index]));
}

/**
 * The event has one of the ids. An id contains the time of its event, and only those times are searched: an event that arrives days late
 * does not widen the search to all days in between.
 */
function isOneOf(kind: BoundFilters['kind'], ids: readonly string[]): Condition {
  const events = ids
    .flatMap((id): TimedId[] => {
      const timeMs = eventIdTime(id);
      return timeMs === undefined ? [] : [{ id, timeMs }];
    })
    .sort((one, other) => one.timeMs - other.timeMs);
  if (events.length === 0) return NOTHING;
  const parts = ranges(events).map((part): Condition => {
    const values = { type: 'Array(String)', value: part.map(({ id }) => id) } as const;
    const bounds = { fromMs: part[0]?.timeMs, toMs: part.at(-1)?.timeMs ?? 0 };
    return {
      type: 'and',
      of: [{ type: 'in', column: SHAPES[kind].id, isFolded: false, values }, ...happenedWithin(bounds)],
    };
  });
  return anyOf(parts) ?? NOTHING;
}

/** The conditions of the filters, without their range. */
function conditionsOf({ bound, stats }: EventSetFilters): readonly Condition[] {
  return bound.isEmpty ? [NOTHING] : [...bound.conditions, ...linkConditions(bound, stats)];
}

/** All of the conditions hold. Without conditions it is always true. */
function allOf([first, ...rest]: readonly Condition[]): Condition {
  if (first === undefined) return { type: 'not', of: NOTHING };
  return { type: 'and', of: [first, ...rest] };
}

/**
 * Plans one query for the events with these ids, whatever the range of the filters. Several filters of one workspace and kind share the
 * query: each of them is a column of the result, while a single filter is a condition of it.
 */
export function planEventSet(
  filters: readonly [EventSetFilters, ...EventSetFilters[]],
  ids: readonly string[],
): EventSetPlan {
  const [first, ...others] = filters;
  const { kind, workspace } = first.bound;
  const { table, id, columns } = SHAPES[kind];
  const where = [isOneOf(kind, ids), ...(others.length === 0 ? conditionsOf(first) : [])];
  return {
    read: { table, isFinal: false, workspace, columns: [id, 'timestamp', ...columns], where },
    matches: others.length === 0 ? [] : filters.map((each) => allOf(conditionsOf(each))),
    settings: { ...READ_LIMITS, log_comment: `events ${kind} by id`, ...linkReadSettings(undefined, where) },
  };
}
