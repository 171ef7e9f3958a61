import type { EventKind } from '@waymark/contract';
import type { BoundRequest } from './bind.js';
import { NOTHING } from './conditions.js';
import type { ColumnName, Condition, EventTable, TableRead, Value } from './sql-nodes.js';

/** Settings of ClickHouse that belong to a statement. */
export type QuerySettings = Readonly<Record<string, string | number>>;

/** A page of rows. */
export interface PagePlan {
  readonly read: TableRead;
  readonly orderBy: readonly ColumnName[];
  readonly direction: 'ASC' | 'DESC';
  readonly limit: bigint;
  readonly offset: bigint;
  readonly settings: QuerySettings;
}

/** A list of ids or a sum, to be known before the page is planned. */
export interface FactPlan {
  readonly read: TableRead;
  /** The one column is summed up instead of listed. */
  readonly isSum: boolean;
  readonly limit: bigint | undefined;
  readonly settings: QuerySettings;
}

/** What was found out before the page is planned. */
export interface PlanFacts {
  /** All links whose events can match, when they are few; undefined = many, or not asked. */
  readonly allowedLinks?: readonly bigint[] | undefined;
}

interface EventShape {
  readonly table: EventTable;
  readonly id: ColumnName;
  /** What an answer needs besides id and order: everything else of an item is in its payload. */
  readonly columns: readonly ColumnName[];
}

const SHAPES: Readonly<Record<EventKind, EventShape>> = {
  clicks: { table: 'click_events', id: 'click_id', columns: ['link_id', 'payload', 'ip'] },
  leads: { table: 'lead_events', id: 'event_id', columns: ['link_id', 'payload', 'ip', 'event_name', 'customer_id'] },
  sales: { table: 'sale_events', id: 'event_id', columns: ['link_id', 'payload', 'ip', 'event_name', 'customer_id'] },
};

/** An offset below this costs less than asking how many events there are. */
const NEAR_OFFSET = 10_000n;
/**
 * Up to so many links are read link by link, through the projection; more of them in the order of time. Links nobody clicks:
 * 26 against 195 ms for a hundred of them among 4 million clicks; the busiest hundred: 109 against 29.
 */
const FEW_LINKS = 100;

const LIMITS = { max_execution_time: 20, max_memory_usage: 1_000_000_000, max_threads: 2 } as const;
const SLOT_MS = 15 * 60_000;
/** Last second of ClickHouse's DateTime. */
const SECONDS_MAX = 2 ** 32 - 1;

function textOf(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
}

function instant(ms: number): Value {
  return { type: "DateTime64(3, 'UTC')", value: textOf(ms) };
}

function slot(ms: number): Value {
  const seconds = Math.min(Math.floor(ms / SLOT_MS) * (SLOT_MS / 1000), SECONDS_MAX);
  return { type: "DateTime('UTC')", value: textOf(seconds * 1000).slice(0, 19) };
}

/** The range as conditions on a column of any grain, both ends included. */
function within(column: ColumnName, { fromMs, toMs }: BoundRequest, toValue: (ms: number) => Value): Condition[] {
  const upper: Condition = { type: 'compare', column, operator: '<=', value: toValue(Math.max(toMs, 0)) };
  if (fromMs === undefined) return [upper];
  return [{ type: 'compare', column, operator: '>=', value: toValue(fromMs) }, upper];
}

/** How many events of the kind the range has at most, asked for a page so far back that it may lie beyond the end. */
export function planCount(bound: BoundRequest): FactPlan | undefined {
  if (bound.isEmpty || bound.page.offset < NEAR_OFFSET) return undefined;
  const { kind, workspace } = bound;
  return {
    read: { table: 'workspace_slots', isFinal: false, workspace, columns: [kind], where: within('slot', bound, slot) },
    isSum: true,
    limit: undefined,
    settings: { ...LIMITS, log_comment: `events ${kind} count` },
  };
}

/** The links that filters on links let pass, as far as they are few: then they are worth more than their conditions. */
export function planLinks(bound: BoundRequest): FactPlan | undefined {
  const { kind, allowedLinks, listedLinks } = bound;
  if (bound.isEmpty || allowedLinks === undefined || isFew(listedLinks)) return undefined;
  return {
    read: allowedLinks,
    isSum: false,
    limit: BigInt(FEW_LINKS + 1),
    settings: { ...LIMITS, log_comment: `events ${kind} links` },
  };
}

/** What the answer to {@link planLinks} tells the plan. */
export function factsOf(allowedLinks: readonly bigint[] | undefined): PlanFacts {
  return isFew(allowedLinks?.length) ? { allowedLinks } : {};
}

function isFew(links: number | undefined): boolean {
  return links !== undefined && links <= FEW_LINKS;
}

/** Whose link the event has to be of. */
function linkConditions({ allowedLinks }: BoundRequest, facts: PlanFacts): Condition[] {
  if (allowedLinks === undefined) return [];
  const known = facts.allowedLinks;
  if (known === undefined) return [{ type: 'inRead', columns: ['link_id'], read: allowedLinks }];
  if (known.length === 0) return [NOTHING];
  return [{ type: 'in', column: 'link_id', isFolded: false, values: { type: 'Array(UInt64)', value: known } }];
}

function pageSettings(bound: BoundRequest, facts: PlanFacts, where: readonly Condition[]): QuerySettings {
  const readsByLink = isFew(bound.listedLinks) || isFew(facts.allowedLinks?.length);
  // A set of links is of no use to the index of time order, yet each of its ids would be looked up in the bloom filter of
  // each granule: 1700 against 450 ms for 300,000 links.
  const readsKeySet = where.some((condition) => condition.type === 'inRead' && condition.columns.includes('timestamp'));
  return {
    ...LIMITS,
    log_comment: `events ${bound.kind}`,
    optimize_use_projections: readsByLink ? 1 : 0,
    use_index_for_in_with_subqueries: readsByLink || readsKeySet ? 1 : 0,
    // With it the filters leave PREWHERE: 193 against 75 ms (clickhouse.md, section 2).
    use_top_k_dynamic_filtering: 0,
  };
}

/** Chooses table, columns, order and settings for a page. */
export function plan(bound: BoundRequest, facts: PlanFacts = {}): PagePlan {
  const { table, id, columns } = SHAPES[bound.kind];
  const { direction, limit, offset } = bound.page;
  const where = bound.isEmpty
    ? [NOTHING]
    : [...within('timestamp', bound, instant), ...bound.conditions, ...linkConditions(bound, facts)];
  return {
    read: {
      table,
      isFinal: false,
      workspace: bound.workspace,
      columns: [id, 'timestamp', ...columns],
      where,
    },
    // The id makes the order total, so that no page repeats or misses an event of the same millisecond.
    orderBy: ['timestamp', id],
    direction,
    limit: BigInt(limit),
    offset,
    settings: pageSettings(bound, facts, where),
  };
}
