import type { Position } from '../parse/page.js';
import type { StoredWindow } from '../parse/parsed-request.js';
import { dateTimeText } from './date-time-text.js';
import type { ColumnName, Condition, Value } from './sql-nodes.js';

/** Length of a time slot in the roll-up `workspace_slots`: 15 minutes. */
export const SLOT_MS = 15 * 60_000;
/** Last second of ClickHouse's DateTime. */
const SECONDS_MAX = 2 ** 32 - 1;

/** A time range in epoch milliseconds, both ends included. */
export interface Bounds {
  /** Undefined = no lower bound. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
}

function instant(ms: number): Value {
  return { type: "DateTime64(3, 'UTC')", value: dateTimeText(ms) };
}

function slot(ms: number): Value {
  const seconds = Math.min(Math.floor(ms / SLOT_MS) * (SLOT_MS / 1000), SECONDS_MAX);
  return { type: "DateTime('UTC')", value: dateTimeText(seconds * 1000).slice(0, 19) };
}

function within(column: ColumnName, { fromMs, toMs }: Bounds, toValue: (ms: number) => Value): Condition[] {
  const upper: Condition = { type: 'compare', column, operator: '<=', value: toValue(toMs) };
  if (fromMs === undefined) return [upper];
  return [{ type: 'compare', column, operator: '>=', value: toValue(fromMs) }, upper];
}

/** The event happened within the bounds, both included. */
export function happenedWithin(bounds: Bounds): Condition[] {
  return within('timestamp', bounds, instant);
}

/** The event was stored from `fromMs` on and before `toMs`. */
export function storedWithin({ fromMs, toMs }: StoredWindow): Condition[] {
  return within('stored_at', { fromMs, toMs: toMs - 1 }, instant);
}

type TupleOperator = Extract<Condition, { readonly type: 'compareTuple' }>['operator'];

/**
 * Compares the sort key of the event with `position`. The separate condition on the time is redundant, but the index can only
 * use that one, not the tuple comparison.
 */
function compareTo({ timeMs, id }: Position, idColumn: ColumnName, operator: TupleOperator): Condition[] {
  const time = instant(timeMs);
  return [
    { type: 'compare', column: 'timestamp', operator: operator.startsWith('>') ? '>=' : '<=', value: time },
    { type: 'compareTuple', columns: ['timestamp', idColumn], operator, values: [time, { type: 'String', value: id }] },
  ];
}

/** The event comes after the one at `position` in the sort order. */
export function comesAfter(position: Position, direction: 'ASC' | 'DESC', idColumn: ColumnName): Condition[] {
  return compareTo(position, idColumn, direction === 'ASC' ? '>' : '<');
}

/** The 15-minute slot overlaps the bounds. */
export function slotOverlaps(bounds: Bounds): Condition[] {
  return within('slot', bounds, slot);
}
