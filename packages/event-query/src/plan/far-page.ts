import type { BoundRequest } from '../bind/bind.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { TableRead } from '../sql/sql-nodes.js';
import { type Bounds, happenedWithin, SLOT_MS, slotTouches } from '../sql/time-conditions.js';
import { linkConditions, linkReadSettings, ofRemovedLinks } from './link-reads.js';
import { type PagePlan, plan, SHAPES } from './plan.js';
import type { PlanFacts } from './planner-stats.js';

/*
 * Where a page far back begins, found out without reading what lies before it. Where every event of the range is listed, the
 * quarters of an hour of the roll-up are added up until the page is reached, without the events of the few links that were
 * removed; only the part of one that the range begins in has to be counted. Otherwise the events are counted off, but of their columns only those that the filters look at are read.
 */

/** What is read of a table, its expressions apart. */
type RowsRead = Omit<TableRead, 'columns'>;

/** Events to be counted. */
export interface CountPlan {
  readonly read: RowsRead;
  readonly settings: QuerySettings;
}

/** The quarter of an hour that holds the event with the given number, counted from 0 in the order of the page. */
export interface SlotPlan {
  readonly read: TableRead;
  /** Events that the quarters count and the list does not have. */
  readonly takenAway: RowsRead | undefined;
  readonly direction: 'ASC' | 'DESC';
  readonly offset: bigint;
  readonly settings: QuerySettings;
}

/** Whether every event of the range is listed, those of a few removed links apart: then the roll-up knows how many. */
function listsAll({ conditions, listedLinks, allowedLinks }: BoundRequest, facts: PlanFacts): boolean {
  const isFiltered = conditions.length > 0 || listedLinks !== undefined || allowedLinks !== undefined;
  return !isFiltered && (facts.hasRemovedLinks === false || facts.removedLinks !== undefined);
}

/** The range in two: what lies in a quarter of an hour that the range begins inside of, and the rest. */
function parts({ fromMs, toMs, page }: BoundRequest): { readonly head: Bounds | undefined; readonly rest: Bounds } {
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
 * The events before the first whole quarter of an hour, for a far page of all events; undefined when the range begins with
 * one, and then there are none.
 */
export function planHead(bound: BoundRequest, facts: PlanFacts): CountPlan | undefined {
  const { head } = parts(bound);
  if (!listsAll(bound, facts) || head === undefined) return undefined;
  const { kind, workspace } = bound;
  return {
    read: {
      table: SHAPES[kind].table,
      isFinal: false,
      workspace,
      where: [...happenedWithin(head), ...linkConditions(bound, facts)],
    },
    settings: { ...READ_LIMITS, log_comment: `events ${kind} head`, optimize_use_projections: 0 },
  };
}

/**
 * The quarter of an hour in which a far page of all events begins.
 *
 * @param head the answer to {@link planHead}
 */
export function planSlot(bound: BoundRequest, facts: PlanFacts, head: bigint): SlotPlan | undefined {
  const { kind, workspace, page } = bound;
  if (!listsAll(bound, facts) || page.offset < head) return undefined;
  const { rest } = parts(bound);
  const removed = ofRemovedLinks(bound, facts);
  const takenAway = removed && {
    table: SHAPES[kind].table,
    isFinal: false,
    workspace,
    where: [...happenedWithin(rest), removed],
  };
  return {
    read: { table: 'workspace_slots', isFinal: false, workspace, columns: [kind], where: slotTouches(rest) },
    takenAway,
    direction: page.direction,
    offset: page.offset - head,
    settings: {
      ...READ_LIMITS,
      log_comment: `events ${kind} slot`,
      ...(takenAway === undefined ? {} : linkReadSettings(0, takenAway.where)),
    },
  };
}

/** The first event of any other far page: its id and time. */
export function planFirstEvent(bound: BoundRequest, facts: PlanFacts): PagePlan | undefined {
  if (listsAll(bound, facts)) return undefined;
  const page = plan(bound, facts);
  const columns = [SHAPES[bound.kind].id, 'timestamp'] as const;
  return { ...page, read: { ...page.read, columns }, limit: 1n };
}
