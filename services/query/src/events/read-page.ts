import {
  type BoundRequest,
  isBeyondEnd,
  isFarPage,
  type PlannerStats,
  plan,
  planRangeCount,
  printPage,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';
import type { EventPageRow } from './event-text.js';
import { findStart } from './page-start.js';

/** How many events a far page may skip one by one, which takes about a second. */
const SKIPPED_MAX = 1_000_000;

/**
 * Whether a far page is found with the roll-up of events by time. ClickHouse deletes expired rows of each table when it merges that table, so at
 * the old end of a list, from which an ascending one is counted, the roll-up may differ from the events. Pages that are farther still are
 * found with it all the same, because skipping so many events takes too long.
 */
async function mayCountBySlots(reads: Reads, bound: BoundRequest): Promise<boolean> {
  const { direction, offset } = bound.page;
  return isFarPage(bound) && (direction === 'DESC' || offset > SKIPPED_MAX || !(await reads.eventsExpire()));
}

/** The planner statistics of a page except for removed links; undefined = the page is beyond the end of the list. */
async function readStats(reads: Reads, bound: BoundRequest): Promise<PlannerStats | undefined> {
  const count = (await mayCountBySlots(reads, bound)) ? planRangeCount(bound) : undefined;
  const [events, allowed] = await Promise.all([reads.sum(count), reads.allowedLinks(bound)]);
  if (events !== undefined && isBeyondEnd(bound, events)) return undefined;
  return { ...allowed, linkEvents: await reads.linkEvents(bound, allowed) };
}

/**
 * Reads the rows of a large page that begins after a given event, or at the start of the list.
 *
 * @throws ApiError when ClickHouse exceeds a limit or is unavailable
 */
export async function readLargePage(reads: Reads, bound: BoundRequest): Promise<Iterable<EventPageRow>> {
  if (bound.isEmpty) return [];
  const [stats, removed] = await Promise.all([readStats(reads, bound), reads.removedLinks(bound)]);
  return stats === undefined ? [] : reads.runLarge<EventPageRow>(printPage(plan(bound, { ...stats, ...removed })));
}

/** Reads the rows of a page by its planner statistics. For the first page of a list, tries the hinted range before the whole one. */
async function readRows(reads: Reads, bound: BoundRequest, stats: PlannerStats): Promise<readonly EventPageRow[]> {
  const read = (part: BoundRequest, start: PlannerStats) =>
    reads.run<EventPageRow>(printPage(plan(part, { ...stats, ...start })));

  const { narrowed, update } = reads.firstPageHints.find(bound);
  const narrowedRows = narrowed === undefined ? [] : await read(narrowed, {});
  if (narrowedRows.length === bound.page.limit) {
    update(narrowedRows);
    return narrowedRows;
  }
  const start = (await mayCountBySlots(reads, bound)) ? await findStart(reads, bound, stats) : {};
  const rows = start === undefined ? [] : await read(bound, start);
  update(rows);
  return rows;
}

/** Whether none of the rows belongs to a removed link, so that rows that were read as if no link had been removed are the right page. */
function areWithoutRemoved(rows: readonly EventPageRow[], { hasRemovedLinks, removedLinks }: PlannerStats): boolean {
  if (hasRemovedLinks === false) return true;
  if (removedLinks === undefined) return false;
  const removed = new Set(removedLinks.map(String));
  return rows.every(([, , link]) => !removed.has(link));
}

/**
 * Reads the rows of a page: first the planner statistics, then the page itself. While the removed links of the workspace are being read,
 * the page is read as if there were none, because few of them have events that are still listed.
 *
 * @throws ApiError when ClickHouse exceeds a limit or is unavailable
 */
export async function readPage(reads: Reads, bound: BoundRequest): Promise<readonly EventPageRow[]> {
  if (bound.isEmpty) return [];
  const known = reads.knownRemovedLinks(bound);
  const removed = known ?? reads.removedLinks(bound);
  const statsRead = readStats(reads, bound);
  // Not with an offset: it would also count the events of removed links that it skips.
  if (known === undefined && bound.page.offset === 0n) {
    const early = statsRead.then((stats) => stats && readRows(reads, bound, { ...stats, hasRemovedLinks: false }));
    const [rows, actual] = await Promise.all([early, removed]);
    if (rows === undefined || areWithoutRemoved(rows, actual)) return rows ?? [];
  }
  const [stats, actual] = await Promise.all([statsRead, removed]);
  return stats === undefined ? [] : readRows(reads, bound, { ...stats, ...actual });
}
