import type { EventKind } from '@waymark/contract';
import type { BoundFilters } from '../bind/bind.js';
import { knownLinks, linkConditions, ofRemovedLinks } from '../plan/link-reads.js';
import type { Condition, EventTable, Value } from '../sql/sql-nodes.js';
import { type Bounds, happenedWithin, slotTouches } from '../sql/time-conditions.js';
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

type RolledUp = NonNullable<Coverage['rolledUp']>;

function rolledUpWhere(bound: BoundFilters, rolledUp: RolledUp, facts: AnalyticsFacts): readonly Condition[] {
  if (rolledUp.table === 'workspace_slots') return slotTouches(rolledUp);
  return [...bound.conditions, ...linkConditions(bound, facts)];
}

/** What a roll-up has of these kinds of events: the filters of all of them are the same, or it could not know. */
function rolledUpRead(parts: ReadParts, bounds: readonly BoundFilters[], rolledUp: RolledUp): GroupedRead[] {
  const [bound, ...others] = bounds;
  if (bound === undefined) return [];
  // Its rows are of all kinds: one without any of this kind would make a group of zeros.
  const hasAny: Condition = {
    type: 'compare',
    column: bound.kind,
    operator: '!=',
    value: { type: 'UInt64', value: 0n },
  };
  const needsAny = others.length === 0 && rolledUp.table === 'link_totals';
  const where = [...(needsAny ? [hasAny] : []), ...rolledUpWhere(bound, rolledUp, parts.facts)];
  const isKnown = (measure: Measure) => bounds.some(({ kind }) => COUNTED[kind][measure] !== undefined);
  return [
    {
      read: { table: rolledUp.table, isFinal: false, workspace: bound.workspace, where },
      keys: keysOf(parts, 'slot'),
      isGroup: [],
      counted: parts.measures.map((measure) => (isKnown(measure) ? { type: 'sum', column: measure } : ZERO)),
      links: undefined,
      isTakenAway: false,
    },
  ];
}

/** `workspace_slots` counts the events of removed links as well: what those had is taken away. */
function removedRead(parts: ReadParts, bound: BoundFilters, bounds: Bounds): GroupedRead[] {
  const ofRemoved = ofRemovedLinks(bound, parts.facts);
  if (ofRemoved === undefined) return [];
  const raw = rawRead(parts, bound, bounds);
  const where = [...happenedWithin(bounds), ofRemoved];
  // However many links were removed: theirs are few among all events, or this would not pay.
  return [{ ...raw, read: { ...raw.read, where }, links: 0, isTakenAway: true }];
}

/** What is read of the events of one kind. */
function eventReads(parts: ReadParts, bound: BoundFilters, coverage: Coverage): GroupedRead[] {
  const { rolledUp, added, takenAway } = coverage;
  return [
    ...added.map((bounds) => rawRead(parts, bound, bounds)),
    ...takenAway.map((bounds) => ({ ...rawRead(parts, bound, bounds), isTakenAway: true })),
    ...(rolledUp?.table === 'workspace_slots' ? removedRead(parts, bound, rolledUp) : []),
  ];
}

/** All that has to be read. A roll-up that has all kinds of events is read once for all of them. */
export function readsOf(request: BoundAnalytics, parts: ReadParts): GroupedRead[] {
  const covered = request.reads
    .filter(({ isEmpty }) => !isEmpty)
    .map((bound) => ({ bound, coverage: coverageOf(request, bound, parts.facts) }));
  const rolledUp = covered.flatMap(({ bound, coverage }) =>
    coverage.rolledUp === undefined ? [] : { bound, rolledUp: coverage.rolledUp },
  );
  const [first] = rolledUp;
  const isShared = first !== undefined && rolledUp.length === covered.length;
  const rolledUpReads = isShared
    ? rolledUpRead(
        parts,
        rolledUp.map(({ bound }) => bound),
        first.rolledUp,
      )
    : rolledUp.flatMap((one) => rolledUpRead(parts, [one.bound], one.rolledUp));
  return [...rolledUpReads, ...covered.flatMap(({ bound, coverage }) => eventReads(parts, bound, coverage))];
}
