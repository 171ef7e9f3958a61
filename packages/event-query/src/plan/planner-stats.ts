import { type BoundFilters, type BoundRequest, EVENT_MS_MAX } from '../bind/bind.js';
import { removedLinks } from '../bind/link-filters.js';
import type { Position } from '../parse/page.js';
import { type QuerySettings, READ_LIMITS } from '../sql/read-limits.js';
import type { Condition, TableRead } from '../sql/sql-nodes.js';
import { slotTouches } from '../sql/time-conditions.js';

/** A list of ids or a sum, to be known before the page is planned. */
export interface FactPlan {
  readonly read: TableRead;
  /** The one column is summed up instead of listed. */
  readonly isSum: boolean;
  readonly limit: bigint | undefined;
  readonly settings: QuerySettings;
}

/** Where a far page begins. */
export type PageStart =
  | {
      readonly type: 'slot';
      /** Start of the quarter of an hour in which the page begins, in epoch milliseconds. */
      readonly slotMs: number;
      /** Events of that quarter that come before the page. */
      readonly offset: bigint;
    }
  | { readonly type: 'event'; readonly first: Position };

/** What was found out before the page is planned. Each fact may be left out: the page is the same, only slower. */
export interface PlanFacts {
  /** All links whose events can match, when they are not too many; undefined = too many, or not asked. */
  readonly allowedLinks?: readonly bigint[] | undefined;
  /** How many events the allowed links have at most, when they are few; undefined = not asked. */
  readonly linkEvents?: number | undefined;
  /** False when no removed link of the workspace has events: 11 against 18 ms for a page. Undefined = not asked. */
  readonly hasRemovedLinks?: boolean | undefined;
  /** All removed links that have events, when they are not too many; undefined = too many, or not asked. */
  readonly removedLinks?: readonly bigint[] | undefined;
  /** Where a far page begins. */
  readonly start?: PageStart | undefined;
}

/** An offset below this costs less than asking how many events there are. */
const NEAR_OFFSET = 10_000n;
/**
 * Up to so many links are read link by link, through the projection; more of them in the order of time. Links nobody clicks:
 * 26 against 195 ms for a hundred of them among 4 million clicks.
 */
const FEW_LINKS = 100;
/**
 * Links with more events than this are read in the order of time as well, however few they are: the newest of all of them
 * would have to be sorted out (109 against 29 ms for the busiest hundred), and in time order they come soon.
 */
const FEW_EVENTS = 200_000;
/** So many links are listed rather than looked for a second time. Their ids travel in the URL of the query. */
const LISTED_LINKS_MAX = 2000;
/** So many removed links are listed: their events are read link by link, to be taken away from what roll-ups have. */
const REMOVED_LINKS_MAX = 500;
/**
 * In a workspace with fewer events, looking through all of them for those of a few quiet links costs no more (50 ms) than
 * finding out first that the links are few.
 */
const MANY_EVENTS = 1_000_000;

export function areFewLinks(count: number | undefined): boolean {
  return count !== undefined && count <= FEW_LINKS;
}

/** Whether few links have so many events that they are better read in the order of time. */
export function areBusyLinks({ linkEvents = 0 }: PlanFacts): boolean {
  return linkEvents > FEW_EVENTS;
}

/** Whether what lies before a page is worth being passed over with other means than reading it. */
export function isFarPage({ page }: BoundRequest): boolean {
  return page.offset >= NEAR_OFFSET;
}

/**
 * How many events of the kind the range has at most. Asked for a page so far back that it may lie beyond the end: one that
 * starts at or after that number is empty.
 */
export function planCount(bound: BoundRequest): FactPlan | undefined {
  return bound.isEmpty || !isFarPage(bound) ? undefined : countEvents(bound);
}

/**
 * How many events of the kind the workspace has, whenever they were. Asked where {@link planLinks} depends on it, which an old
 * answer serves as well.
 */
export function planCountEver(bound: BoundFilters): FactPlan | undefined {
  if (!dependsOnLinks(bound)) return undefined;
  return countEvents({ ...bound, fromMs: undefined, toMs: EVENT_MS_MAX });
}

/** How many events of the kind the range has at most, whatever the filters let pass. */
export function countEvents(bound: BoundFilters): FactPlan {
  const { kind, workspace } = bound;
  return {
    read: { table: 'workspace_slots', isFinal: false, workspace, columns: [kind], where: slotTouches(bound) },
    isSum: true,
    limit: undefined,
    settings: { ...READ_LIMITS, log_comment: `events ${kind} count` },
  };
}

/**
 * Whether a page has no rows for certain. Near pages are never judged by the count: the roll-up may lag behind the events by
 * the moment that an insert takes.
 *
 * @param events the answer to {@link planCount}
 */
export function isBeyondEnd(bound: BoundRequest, events: number): boolean {
  return isFarPage(bound) && bound.page.offset >= BigInt(events);
}

/** Whether it may pay to find out how many links the filters on links let pass. */
function dependsOnLinks({ isEmpty, allowedLinks, listedLinks }: BoundFilters): boolean {
  return !isEmpty && allowedLinks !== undefined && !areFewLinks(listedLinks?.length);
}

/**
 * The links that filters on links let pass, unless they are too many to be listed.
 *
 * @param events the answer to {@link planCountEver}
 */
export function planLinks(bound: BoundFilters, events: number): FactPlan | undefined {
  const { kind, allowedLinks } = bound;
  if (allowedLinks === undefined || !dependsOnLinks(bound) || events < MANY_EVENTS) return undefined;
  return {
    read: allowedLinks,
    isSum: false,
    limit: BigInt(LISTED_LINKS_MAX + 1),
    settings: { ...READ_LIMITS, log_comment: `events ${kind} links` },
  };
}

/** Each once, rising. */
function inOrder(ids: readonly bigint[]): bigint[] {
  return [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1));
}

/** What the answer to {@link planLinks} tells the plan. */
export function allowedLinksFact(ids: readonly bigint[]): Pick<PlanFacts, 'allowedLinks'> {
  if (ids.length > LISTED_LINKS_MAX) return {};
  return { allowedLinks: inOrder(ids) };
}

/** The removed links of the workspace that have events, each once or more often, unless they are too many to be listed. */
export function planRemoved(bound: BoundFilters): FactPlan | undefined {
  const { workspace } = bound;
  if (bound.isEmpty || bound.removedLinks === undefined) return undefined;
  const isRemoved: Condition = { type: 'inRead', columns: ['link_id'], read: removedLinks(workspace) };
  return {
    read: { table: 'link_totals', isFinal: false, workspace, columns: ['link_id'], where: [isRemoved] },
    isSum: false,
    limit: BigInt(REMOVED_LINKS_MAX + 1),
    settings: { ...READ_LIMITS, log_comment: `events ${bound.kind} removed` },
  };
}

/** What the answer to {@link planRemoved} tells the plan. */
export function removedLinksFact(ids: readonly bigint[]): Pick<PlanFacts, 'hasRemovedLinks' | 'removedLinks'> {
  if (ids.length > REMOVED_LINKS_MAX) return { hasRemovedLinks: true };
  return { hasRemovedLinks: ids.length > 0, removedLinks: inOrder(ids) };
}
