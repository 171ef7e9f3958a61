import type { BoundFilters } from '../bind/bind.js';
import { linkIn, NOTHING, not } from '../sql/conditions.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { Condition } from '../sql/sql-nodes.js';
import { areBusyLinks, areFewLinks, type PlannerStats, type StatsPlan } from './planner-stats.js';

/** The event belongs to one of these links. */
function isOfLinks(ids: readonly bigint[]): Condition {
  return { type: 'in', column: 'link_id', isFolded: false, values: { type: 'Array(UInt64)', value: ids } };
}

/** The event belongs to a removed link; undefined when no event of the result can. */
export function isOfRemovedLinks({ removedLinks }: BoundFilters, stats: PlannerStats): Condition | undefined {
  if (removedLinks === undefined || stats.hasRemovedLinks === false) return undefined;
  if (stats.removedLinks !== undefined) return isOfLinks(stats.removedLinks);
  return linkIn(removedLinks);
}

/** The conditions on the link of the event: an allowed one, and not a removed one. */
export function linkConditions(bound: BoundFilters, stats: PlannerStats): Condition[] {
  const { allowedLinks } = bound;
  if (allowedLinks === undefined) {
    const removed = isOfRemovedLinks(bound, stats);
    return removed === undefined ? [] : [not(removed)];
  }
  const known = stats.allowedLinks;
  if (known === undefined) return [linkIn(allowedLinks)];
  if (known.length === 0) return [NOTHING];
  return [isOfLinks(known)];
}

/** How many links the events belong to; undefined = unknown. */
export function linkCountOf({ listedLinks }: BoundFilters, { allowedLinks }: PlannerStats): number | undefined {
  return (allowedLinks ?? listedLinks)?.length;
}

/**
 * Counts all events of the given links, if they are few. Not needed for a single link, whose events the projection stores in
 * the order of time.
 */
export function planLinkEventCount(bound: BoundFilters, stats: PlannerStats): StatsPlan | undefined {
  const { kind, workspace } = bound;
  const links = stats.allowedLinks ?? bound.listedLinks ?? [];
  if (bound.isEmpty || links.length < 2 || !areFewLinks(links.length)) return undefined;
  return {
    read: { table: 'link_totals', isFinal: false, workspace, columns: [kind], where: [isOfLinks(links)] },
    isSum: true,
    limit: undefined,
    settings: { ...READ_LIMITS, log_comment: `events ${kind} links count` },
  };
}

/** Whether the events are selected by a subquery for links. */
function isOfLinkSubquery(where: readonly Condition[]): boolean {
  return where.some((condition) => condition.type === 'inRead' && condition.columns.join() === 'link_id');
}

export interface LinkReadOptions {
  readonly stats?: PlannerStats | undefined;
  /**
   * Up to how many links of a subquery ClickHouse may look up in the projection, if it finds fewer rows there. 0 (the default) for
   * a page whose links may be busy: the projection would sort all their events.
   */
  readonly subqueryLinksMax?: number | undefined;
}

/**
 * Settings that select the access path: the projection, which is sorted by link, or the table, which is sorted by time.
 *
 * @param links how many links the events belong to; undefined = unknown
 */
export function linkReadSettings(
  links: number | undefined,
  where: readonly Condition[],
  { stats = {}, subqueryLinksMax = 0 }: LinkReadOptions = {},
): QuerySettings {
  const readsByLink = areFewLinks(links) && !areBusyLinks(stats);
  // A subquery for primary keys, unlike one for links, narrows a read in the order of time.
  const readsKeySet = where.some((condition) => condition.type === 'inRead' && condition.columns.includes('timestamp'));
  if (subqueryLinksMax > 0 && !readsKeySet && links === undefined && isOfLinkSubquery(where)) {
    return {
      optimize_use_projections: 1,
      use_index_for_in_with_subqueries: 1,
      use_index_for_in_with_subqueries_max_values: subqueryLinksMax,
      ignore_data_skipping_indices: 'link_id_bloom',
    };
  }
  // A set of links does not narrow a read in the order of time, yet each id would be looked up in the bloom filter of each granule. Without
  // the look-ups: 450 instead of 1700 ms for a subquery with 300,000 links, 20 instead of 80 ms for 1000 ids.
  return {
    optimize_use_projections: readsByLink ? 1 : 0,
    use_index_for_in_with_subqueries: readsByLink || readsKeySet ? 1 : 0,
    ...(readsByLink ? {} : { ignore_data_skipping_indices: 'link_id_bloom' }),
  };
}
