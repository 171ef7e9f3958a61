import type { EventKind } from '@waymark/contract';
import type { BoundRequest } from '../bind/bind.js';
import { NOTHING } from '../sql/conditions.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { ColumnName, Condition, EventTableName, TableRead } from '../sql/sql-nodes.js';
import { comesAfter, happenedWithin, SLOT_MS } from '../sql/time-conditions.js';
import { linkConditions, linkCountOf, linkReadSettings } from './link-reads.js';
import { areManyEvents, FEW_LINKS, type PlannerStats } from './planner-stats.js';

/** The query for a page of events. */
export interface PagePlan {
  readonly read: TableRead;
  readonly orderBy: readonly ColumnName[];
  readonly direction: 'ASC' | 'DESC';
  readonly limit: bigint;
  readonly offset: bigint;
  readonly settings: QuerySettings;
}

/** The table of an event kind, and the columns of its pages. */
interface EventShape {
  readonly table: EventTableName;
  readonly id: ColumnName;
  /** Columns to read besides id and time. All other fields of a result item are in `payload`. */
  readonly columns: readonly ColumnName[];
}

export const SHAPES: Readonly<Record<EventKind, EventShape>> = {
  clicks: { table: 'click_events', id: 'click_id', columns: ['link_id', 'payload', 'ip'] },
  leads: { table: 'lead_events', id: 'event_id', columns: ['link_id', 'payload', 'ip', 'event_name', 'customer_id'] },
  sales: { table: 'sale_events', id: 'event_id', columns: ['link_id', 'payload', 'ip', 'event_name', 'customer_id'] },
};

/**
 * Sorts by time, then by id, so that pages neither repeat nor miss events of the same millisecond. For one link, ORDER BY names
 * the whole sort key of the projection, though part of it is constant: ClickHouse then reads in that order and stops after the
 * page (12 instead of 30 ms for a link with 350,000 clicks).
 */
function orderOf(id: ColumnName, links: number | undefined): readonly ColumnName[] {
  return links === 1 ? ['workspace_id', 'link_id', 'timestamp', id] : ['timestamp', id];
}

/** Whether the page consists of the first rows in storage order: there are no filters, or only one on a single link. */
function isReadInOrder(bound: BoundRequest, links: number | undefined): boolean {
  return bound.conditions.length === 0 && bound.allowedLinks === undefined && (links === undefined || links === 1);
}

/** Settings of a page that consists of the first rows in storage order. */
const IN_ORDER_SETTINGS: QuerySettings = {
  // A second thread would have nothing to do: 187 such pages a second with one thread, 160 with two.
  max_threads: 1,
  // Merging steps of the plan takes longer than running them one by one on a hundred rows: 26 instead of 21 ms of CPU.
  query_plan_merge_expressions: 0,
};

/** The last row of a page up to which ClickHouse, by default, reads the wide columns of the page's rows only. */
const LAZY_ROWS = 10_000n;

/**
 * Up to how many links of a subquery are looked up in the projection. A tenant or a partner usually has few: 34 instead of 58 ms of
 * CPU for its page, where listing its links first takes 47. Filters that may select many links would pay a fifth more for the try.
 */
function subqueryLinksMax({ isLinkFilterSelective }: BoundRequest, stats: PlannerStats): number {
  return isLinkFilterSelective && !areManyEvents(stats) ? FEW_LINKS : 0;
}

function pageSettings(
  bound: BoundRequest,
  links: number | undefined,
  where: readonly Condition[],
  stats: PlannerStats,
): QuerySettings {
  const lastRow = offsetOf(bound, stats) + BigInt(bound.page.limit);
  return {
    ...READ_LIMITS,
    ...(isReadInOrder(bound, links) ? IN_ORDER_SETTINGS : {}),
    ...(lastRow > LAZY_ROWS ? { query_plan_max_limit_for_lazy_materialization: 0 } : {}),
    log_comment: `events ${bound.kind}`,
    ...linkReadSettings(links, where, { stats, subqueryLinksMax: subqueryLinksMax(bound, stats) }),
    // Enabled, it moves the filters out of PREWHERE: 193 instead of 75 ms.
    use_top_k_dynamic_filtering: 0,
  };
}

/** The time range of the request, narrowed to begin where the page begins, if that is known. */
function timeConditions(bound: BoundRequest, id: ColumnName, { start }: PlannerStats): Condition[] {
  const { direction, after } = bound.page;
  if (after !== undefined) return [...happenedWithin(bound), ...comesAfter(after, direction, id)];
  if (start === undefined) return happenedWithin(bound);
  const { fromMs, toMs } = bound;
  return direction === 'ASC'
    ? happenedWithin({ fromMs: Math.max(fromMs ?? 0, start.slotMs), toMs })
    : happenedWithin({ fromMs, toMs: Math.min(toMs, start.slotMs + SLOT_MS - 1) });
}

/** Rows to skip: from the start of the page's slot if that is known, otherwise from the start of the list. */
function offsetOf({ page }: BoundRequest, { start }: PlannerStats): bigint {
  return start?.offset ?? page.offset;
}

/** Plans the query for a page: table, columns, order and settings. */
export function plan(bound: BoundRequest, stats: PlannerStats = {}): PagePlan {
  const { table, id, columns } = SHAPES[bound.kind];
  const { direction, limit } = bound.page;
  const links = linkCountOf(bound, stats);
  const where = bound.isEmpty
    ? [NOTHING]
    : [...timeConditions(bound, id, stats), ...bound.conditions, ...linkConditions(bound, stats)];
  return {
    read: {
      table,
      isFinal: false,
      workspace: bound.workspace,
      columns: [id, 'timestamp', ...columns],
      where,
    },
    orderBy: orderOf(id, links),
    direction,
    limit: BigInt(limit),
    offset: offsetOf(bound, stats),
    settings: pageSettings(bound, links, where, stats),
  };
}
