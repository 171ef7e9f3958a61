import type { BoundRequest } from '../bind/bind.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { TableRead } from '../sql/sql-nodes.js';
import { type Bounds, happenedWithin, SLOT_MS, slotOverlaps } from '../sql/time-conditions.js';
import { isOfRemovedLinks, linkConditions, linkReadSettings } from './link-reads.js';
import { SHAPES } from './plan.js';
import type { PlannerStats } from './planner-stats.js';

/*
 * Finds the start of a page with a large offset without reading the rows before it.
 *
 * Without filters, the roll-up `workspace_slots` (events per 15-minute slot) is summed up until the offset is reached, minus the
 * events of removed links. Only the slot in which the range begins may be covered in part; its events are counted from the table.
 * With filters, the rows are skipped with OFFSET, reading only the columns of the filters and the sort key.
 */

/** A table read without its SELECT expressions. */
type RowsRead = Omit<TableRead, 'columns'>;

/** Counts the rows of a read. */
export interface CountPlan {
  readonly read: RowsRead;
  readonly settings: QuerySettings;
}

/** Finds the 15-minute slot that contains the event at `offset` (from 0, in the order of the page). */
export interface StartSlotPlan {
  readonly read: TableRead;
  /** Events that the roll-up counts but the list excludes: those of removed links. */
  readonly subtracted: RowsRead | undefined;
  readonly direction: 'ASC' | 'DESC';
  readonly offset: bigint;
  readonly settings: QuerySettings;
}

/** Whether the roll-up can count the events of the list: there are no filters, and the removed links are known. */
function canCountBySlots({ conditions, listedLinks, allowedLinks }: BoundRequest, stats: PlannerStats): boolean {
  const isFiltered = conditions.length > 0 || listedLinks !== undefined || allowedLinks !== undefined;
  return !isFiltered && (stats.hasRemovedLinks === false || stats.removedLinks !== undefined);
}

/** Splits the range, in the order of the page, into the part before the first slot boundary and the rest. */
function splitAtSlots({ fromMs, toMs, page }: BoundRequest): {
  readonly head: Bounds | undefined;
  readonly rest: Bounds;
} {
  if (page.direction === 'DESC') {
    const slotMs = Math.floor(toMs / SLOT_MS) * SLOT_MS;
    if (toMs === slotMs + SLOT_MS - 1) return { head: undefined, rest: { fromMs, toMs } };
    return { head: { fromMs: Math.max(slotMs, fromMs ?? 0), toMs }, rest: { fromMs, toMs: slotMs - 1 } };
  }
  if (fromMs === undefined || fromMs % SLOT_MS === 0) return { head: undefined, rest: { fromMs, toMs } };
  const nextMs = Math.ceil(fromMs / SLOT_MS) * SLOT_MS;
  return { head: { fromMs, toMs: Math.min(nextMs - 1, toMs) }, rest: { fromMs: nextMs, toMs } };
}

/**
 * Counts the events before the first whole slot, for a far page without filters. Undefined when the range begins at a slot
 * boundary (the count is 0), and for a page with filters.
 */
export function planPartialSlotCount(bound: BoundRequest, stats: PlannerStats): CountPlan | undefined {
  const { head } = splitAtSlots(bound);
  if (!canCountBySlots(bound, stats) || head === undefined) return undefined;
  const { kind, workspace } = bound;
  return {
    read: {
      table: SHAPES[kind].table,
      isFinal: false,
      workspace,
      where: [...happenedWithin(head), ...linkConditions(bound, stats)],
    },
    settings: { ...READ_LIMITS, log_comment: `events ${kind} head`, optimize_use_projections: 0 },
  };
}

/**
 * Finds the slot in which a far page without filters begins; undefined when the page has filters or begins before the first
 * whole slot.
 *
 * @param headEvents number of events before the first whole slot: the result of {@link planPartialSlotCount}, or 0 without one
 */
export function planStartSlot(bound: BoundRequest, stats: PlannerStats, headEvents: bigint): StartSlotPlan | undefined {
  const { kind, workspace, page } = bound;
  if (!canCountBySlots(bound, stats) || page.offset < headEvents) return undefined;
  const { rest } = splitAtSlots(bound);
  const removed = isOfRemovedLinks(bound, stats);
  const subtracted = removed && {
    table: SHAPES[kind].table,
    isFinal: false,
    workspace,
    where: [...happenedWithin(rest), removed],
  };
  return {
    read: { table: 'workspace_slots', isFinal: false, workspace, columns: [kind], where: slotOverlaps(rest) },
    subtracted,
    direction: page.direction,
    offset: page.offset - headEvents,
    settings: {
      ...READ_LIMITS,
      log_comment: `events ${kind} slot`,
      ...(subtracted === undefined ? {} : linkReadSettings(0, subtracted.where)),
    },
  };
}
