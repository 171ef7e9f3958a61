import type { EventKind } from '@waymark/contract';
import type { BoundFilters } from '../bind.js';
import { knownLinks, linkConditions } from '../link-reads.js';
import type { Condition, EventTable, Value } from '../sql-nodes.js';
import { type Bounds, happenedWithin, slotTouches } from '../time-conditions.js';
import type { AnalyticsFacts } from './analytics-facts.js';
import type { Counted, GroupedRead, GroupKey } from './analytics-plan.js';
import type { BoundAnalytics } from './bind-analytics.js';
import { type Coverage, coverageOf } from './coverage.js';
import type { GroupingRule, Measure } from './groupings.js';

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
export interface ReadParts {
  readonly rule: GroupingRule;
  readonly measures: readonly Measure[];
  readonly starts: Value | undefined;
  readonly facts: AnalyticsFacts;
}

function keysOf({ rule, starts }: ReadParts, column: 'timestamp' | 'slot'): GroupKey[] {
  if (starts !== undefined) return [{ type: 'bucket', column, starts }];
  return rule.columns.map((name) => ({ type: 'column', column: name }));
}

function rawRead(parts: ReadParts, bound: BoundFilters, bounds: Bounds): GroupedRead {
  const where = [...happenedWithin(bounds), ...bound.conditions, ...linkConditions(bound, parts.facts)];
  return {
    read: { table: TABLES[bound.kind], isFinal: false, workspace: bound.workspace, where },
    keys: keysOf(parts, 'timestamp'),
    isGroup: parts.rule.isGroup,
    counted: parts.measures.map((measure) => COUNTED[bound.kind][measure] ?? ZERO),
    links: knownLinks(bound, parts.facts),
    isTakenAway: false,
  };
}

/** Rows of a roll-up are of several kinds of events: one without any of this kind would make a group of zeros. */
function hasAny(kind: EventKind): Condition {
  return { type: 'compare', column: kind, operator: '!=', value: { type: 'UInt64', value: 0n } };
}

function rolledUpRead(parts: ReadParts, bound: BoundFilters, rolledUp: NonNullable<Coverage['rolledUp']>): GroupedRead {
  const where =
    rolledUp.table === 'workspace_slots'
      ? slotTouches(rolledUp)
      : [hasAny(bound.kind), ...bound.conditions, ...linkConditions(bound, parts.facts)];
  const known = COUNTED[bound.kind];
  return {
    read: { table: rolledUp.table, isFinal: false, workspace: bound.workspace, where },
    keys: keysOf(parts, 'slot'),
    isGroup: [],
    counted: parts.measures.map((measure) => (known[measure] === undefined ? ZERO : { type: 'sum', column: measure })),
    links: undefined,
    isTakenAway: false,
  };
}

/** `workspace_slots` counts the events of removed links as well: what those had is taken away. */
function removedRead(parts: ReadParts, bound: BoundFilters, bounds: Bounds): GroupedRead[] {
  if (bound.removedLinks === undefined || parts.facts.hasRemovedLinks === false) return [];
  const ofRemoved: Condition = { type: 'inRead', columns: ['link_id'], read: bound.removedLinks };
  const raw = rawRead(parts, bound, bounds);
  const where = [...happenedWithin(bounds), ofRemoved];
  // However many links were removed: theirs are few among all events, or this would not pay.
  return [{ ...raw, read: { ...raw.read, where }, links: 0, isTakenAway: true }];
}

/** All that has to be read for one kind of event. */
export function readsOf(request: BoundAnalytics, parts: ReadParts, bound: BoundFilters): GroupedRead[] {
  const { rolledUp, added, takenAway } = coverageOf(request, bound, parts.facts);
  return [
    ...(rolledUp === undefined ? [] : [rolledUpRead(parts, bound, rolledUp)]),
    ...added.map((bounds) => rawRead(parts, bound, bounds)),
    ...takenAway.map((bounds) => ({ ...rawRead(parts, bound, bounds), isTakenAway: true })),
    ...(rolledUp?.table === 'workspace_slots' ? removedRead(parts, bound, rolledUp) : []),
  ];
}
