import type { BoundFilters } from '../bind.js';
import type { Condition } from '../sql-nodes.js';
import { SLOT_MS } from '../time-conditions.js';
import { DAY_MS } from '../zone.js';
import type { BoundAnalytics } from './bind-analytics.js';

/** Both ends included. */
export interface Bounds {
  /** Undefined = since ever. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
}

export type RollUp = 'workspace_slots' | 'link_days';

/** Which part of a range is read from a roll-up, and which from the events themselves. */
export interface Coverage {
  readonly rolledUp: (Bounds & { readonly table: RollUp }) | undefined;
  readonly raw: readonly Bounds[];
}

const GRAIN_MS: Readonly<Record<RollUp, number>> = { workspace_slots: SLOT_MS, link_days: DAY_MS };

/** Conditions that a roll-up by link can answer. */
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

/** The roll-up that knows the groups, if any does. */
function rollUpOf({ grouping, timeline }: BoundAnalytics, bound: BoundFilters, groupsByLink: boolean) {
  if (groupsByLink) return bound.conditions.every(isOnLink) ? 'link_days' : undefined;
  const countsAll = bound.conditions.length === 0 && bound.allowedLinks === undefined;
  if (!countsAll || (grouping !== 'count' && grouping !== 'timeseries')) return undefined;
  // A zone may have been off by odd minutes long ago.
  const isAligned = timeline?.starts.slice(1).every((start) => start % SLOT_MS === 0) ?? true;
  return isAligned ? 'workspace_slots' : undefined;
}

/**
 * Whole quarters of an hour or whole days come from the roll-up, the ragged ends from the events.
 *
 * @param groupsByLink the answer is put together from numbers of links
 */
export function coverageOf(request: BoundAnalytics, bound: BoundFilters, groupsByLink: boolean): Coverage {
  const { fromMs, toMs } = bound;
  const table = rollUpOf(request, bound, groupsByLink);
  if (table === undefined) return { rolledUp: undefined, raw: [{ fromMs, toMs }] };
  const grain = GRAIN_MS[table];
  const first = fromMs === undefined ? undefined : Math.ceil(fromMs / grain) * grain;
  const end = Math.floor((toMs + 1) / grain) * grain;
  if ((first ?? 0) >= end) return { rolledUp: undefined, raw: [{ fromMs, toMs }] };
  const raw: Bounds[] = [];
  if (fromMs !== undefined && first !== undefined && fromMs < first) raw.push({ fromMs, toMs: first - 1 });
  if (end <= toMs) raw.push({ fromMs: end, toMs });
  return { rolledUp: { table, fromMs: first, toMs: end - 1 }, raw };
}
