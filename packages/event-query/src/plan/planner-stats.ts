import { type BoundFilters, type BoundRequest, EVENT_MS_MAX } from '../bind/bind.js';
import { removedLinks } from '../bind/link-filters.js';
import { linkIn } from '../sql/conditions.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { TableRead } from '../sql/sql-nodes.js';
import { slotOverlaps } from '../sql/time-conditions.js';

/** A query for planner statistics, run before the page is planned: a list of ids, or a sum. */
export interface StatsPlan {
  readonly read: TableRead;
  /** Whether to read the sum of the (only) column instead of its values. */
  readonly isSum: boolean;
  readonly limit: bigint | undefined;
  readonly settings: QuerySettings;
}

/** Where a page with a large offset begins: in which slot, and after how many of its events. */
export interface PageStart {
  /** Start of the 15-minute slot in which the page begins, in epoch milliseconds. */
  readonly slotMs: number;
  /** Events of that slot that come before the page. */
  readonly offset: bigint;
}

/** Statistics for the planner. All are optional: without them the result is the same, only slower. */
export interface PlannerStats {
  /** All links that pass the filters on links; undefined = too many, or not read. */
  readonly allowedLinks?: readonly bigint[] | undefined;
  /** Upper bound of the events of the allowed links, if those are few; undefined = not read. */
  readonly linkEvents?: number | undefined;
  /** Approximate number of events of the kind in the workspace; undefined = not read. */
  readonly kindEvents?: number | undefined;
  /** False when no removed link of the workspace has events: saves 7 of 18 ms for a page. Undefined = not read. */
  readonly hasRemovedLinks?: boolean | undefined;
  /** All removed links that have events; undefined = too many, or not read. */
  readonly removedLinks?: readonly bigint[] | undefined;
  /** Where a page with a large offset begins. */
  readonly start?: PageStart | undefined;
}

/** Skipping fewer rows than this costs less than counting the events first: 46 instead of 58 ms of CPU for page 300. */
const NEAR_OFFSET = 30_000n;
/**
 * Up to this many links are read through the projection by link, more through the table in the order of time. For a hundred
 * links without clicks among 4 million clicks: 26 ms instead of 195.
 */
export const FEW_LINKS = 100;
/**
 * Links with more events than this in total are read in the order of time, even if they are few. The projection would have to
 * sort all their events, and in the order of time the page fills quickly: 29 instead of 109 ms for the hundred busiest links of a
 * large workspace, 17 instead of 22 ms for links with 19,000 of 670,000 events, but 55 instead of 17 for quiet ones.
 */
const FEW_EVENTS = 50_000;
/** Up to this many links are passed to the page query as ids instead of a subquery. The ids are part of the query's URL. */
const LISTED_LINKS_MAX = 2000;
/** Up to this many removed links are listed; their events are read link by link and subtracted from the roll-ups. */
export const REMOVED_LINKS_MAX = 500;
/** With fewer events than this in the workspace, scanning all of them costs no more than listing the links, even from a cache. */
const WORTH_LISTING_EVENTS = 100_000;
/**
 * With fewer events than this in the workspace, a page of unlisted links may be read through the projection, though the links may
 * turn out to be busy: at worst it sorts all these events.
 */
const MANY_EVENTS = 1_000_000;

/** Whether so few links are read through the projection by link. An unknown number counts as many. */
export function areFewLinks(count: number | undefined): boolean {
  return count !== undefined && count <= FEW_LINKS;
}

/** Whether the links, though few, have so many events that reading in the order of time is faster. */
export function areBusyLinks({ linkEvents = 0 }: PlannerStats): boolean {
  return linkEvents > FEW_EVENTS;
}

/** Whether the workspace has so many events that the access path must not depend on a guess. Unknown counts are taken for many. */
export function areManyEvents({ kindEvents = MANY_EVENTS }: PlannerStats): boolean {
  return kindEvents >= MANY_EVENTS;
}

/** Whether the offset is so large that finding the start of the page first is faster than reading and skipping rows. */
export function isFarPage({ page }: BoundRequest): boolean {
  return page.offset >= NEAR_OFFSET;
}

/**
 * Counts the events of the kind in the range, ignoring filters. Read for far pages only: a page whose offset is not below this
 * upper bound is empty, see {@link isBeyondEnd}.
 */
export function planRangeCount(bound: BoundRequest): StatsPlan | undefined {
  return bound.isEmpty || !isFarPage(bound) ? undefined : planEventCount(bound);
}

/**
 * Counts all events of the kind in the workspace, for {@link areManyEvents} and {@link planAllowedLinks}. An outdated count is good
 * enough there, so the result may be cached.
 */
export function planTotalCount(bound: BoundFilters): StatsPlan | undefined {
  if (!mayNeedAllowedLinks(bound)) return undefined;
  return planEventCount({ ...bound, fromMs: undefined, toMs: EVENT_MS_MAX });
}

/** Counts the events of the kind in the range, ignoring filters: an upper bound for the size of the result. */
export function planEventCount(bound: BoundFilters): StatsPlan {
  const { kind, workspace } = bound;
  return {
    read: { table: 'workspace_slots', isFinal: false, workspace, columns: [kind], where: slotOverlaps(bound) },
    isSum: true,
    limit: undefined,
    settings: { ...READ_LIMITS, log_comment: `events ${kind} count` },
  };
}

/**
 * Whether a page certainly has no rows. Decides for far pages only: near the first page the count may be too low, because an
 * insert reaches the roll-up slightly later than the event table.
 *
 * @param events the result of {@link planRangeCount}
 */
export function isBeyondEnd(bound: BoundRequest, events: number): boolean {
  return isFarPage(bound) && bound.page.offset >= BigInt(events);
}

/** Whether listing the links that pass the filters on links may make the query faster. */
function mayNeedAllowedLinks({ isEmpty, allowedLinks, listedLinks }: BoundFilters): boolean {
  return !isEmpty && allowedLinks !== undefined && !areFewLinks(listedLinks?.length);
}

/**
 * Lists the links that pass the filters on links, up to a limit. Worth it at the first request only among many events
 * ({@link areManyEvents}) and for a filter that selects few links; otherwise for lists that are requested again.
 *
 * @param events the result of {@link planTotalCount}
 */
export function planAllowedLinks(bound: BoundFilters, events: number): StatsPlan | undefined {
  const { kind, allowedLinks } = bound;
  if (allowedLinks === undefined || !mayNeedAllowedLinks(bound) || events < WORTH_LISTING_EVENTS) return undefined;
  return {
    read: allowedLinks,
    isSum: false,
    limit: BigInt(LISTED_LINKS_MAX + 1),
    settings: { ...READ_LIMITS, log_comment: `events ${kind} links` },
  };
}

/** Ascending, without duplicates. */
function sortedUnique(ids: readonly bigint[]): bigint[] {
  return [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1));
}

/** The statistics from the result of {@link planAllowedLinks}. */
export function allowedLinksStats(ids: readonly bigint[]): Pick<PlannerStats, 'allowedLinks'> {
  if (ids.length > LISTED_LINKS_MAX) return {};
  return { allowedLinks: sortedUnique(ids) };
}

/** Lists the removed links of the workspace, with and without events, up to a limit. A link may occur more than once. */
export function planAllRemovedLinks({ kind, workspace }: BoundFilters): StatsPlan {
  return {
    read: removedLinks(workspace),
    isSum: false,
    limit: BigInt(REMOVED_LINKS_MAX + 1),
    settings: { ...READ_LIMITS, log_comment: `events ${kind} removed` },
  };
}

/** Lists the removed links of the workspace that have events, up to a limit. A link may occur more than once. */
export function planRemovedLinks(bound: BoundFilters): StatsPlan | undefined {
  const { workspace } = bound;
  if (bound.isEmpty || bound.removedLinks === undefined) return undefined;
  const isRemoved = linkIn(removedLinks(workspace));
  return {
    read: { table: 'link_totals', isFinal: false, workspace, columns: ['link_id'], where: [isRemoved] },
    isSum: false,
    limit: BigInt(REMOVED_LINKS_MAX + 1),
    settings: { ...READ_LIMITS, log_comment: `events ${bound.kind} removed` },
  };
}

/** The statistics from the result of {@link planRemovedLinks}. */
export function removedLinksStats(ids: readonly bigint[]): Pick<PlannerStats, 'hasRemovedLinks' | 'removedLinks'> {
  if (ids.length > REMOVED_LINKS_MAX) return { hasRemovedLinks: true };
  return { hasRemovedLinks: ids.length > 0, removedLinks: sortedUnique(ids) };
}
