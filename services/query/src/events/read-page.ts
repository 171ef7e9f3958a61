import {
  type BoundRequest,
  isBeyondEnd,
  isFarPage,
  type PlannerStats,
  plan,
  planRangeCount,
  print,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';
import type { EventPageRow } from './event-text.js';
import { findStart } from './page-start.js';

/** Reads the planner statistics of a page; undefined = the page is beyond the end of the list. */
async function readStats(reads: Reads, bound: BoundRequest): Promise<PlannerStats | undefined> {
  if (bound.isEmpty) return undefined;
  const [events, removed, allowed] = await Promise.all([
    reads.sum(planRangeCount(bound)),
    reads.removedLinks(bound),
    reads.allowedLinks(bound),
  ]);
  if (events !== undefined && isBeyondEnd(bound, events)) return undefined;
  return { ...allowed, ...removed, linkEvents: await reads.linkEvents(bound, allowed) };
}

/**
 * Reads the rows of a large page that begins after a given event, or at the start of the list.
 *
 * @throws ApiError when ClickHouse exceeds a limit or is unavailable
 */
export async function readLargePage(reads: Reads, bound: BoundRequest): Promise<Iterable<EventPageRow>> {
  const stats = await readStats(reads, bound);
  return stats === undefined ? [] : reads.runLarge<EventPageRow>(print(plan(bound, stats)));
}

/**
 * Reads the rows of a page: first the planner statistics, then the page itself. Tries the cached hint for the first page of a list
 * before the whole range.
 *
 * @throws ApiError when ClickHouse exceeds a limit or is unavailable
 */
export async function readPage(reads: Reads, bound: BoundRequest): Promise<readonly EventPageRow[]> {
  const stats = await readStats(reads, bound);
  if (stats === undefined) return [];
  const read = (part: BoundRequest, start: PlannerStats) =>
    reads.run<EventPageRow>(print(plan(part, { ...stats, ...start })));

  const { narrowed, update } = reads.firstPageHints.find(bound);
  const narrowedRows = narrowed === undefined ? [] : await read(narrowed, {});
  if (narrowedRows.length === bound.page.limit) {
    update(narrowedRows);
    return narrowedRows;
  }
  const start = isFarPage(bound) ? await findStart(reads, bound, stats) : {};
  const rows = start === undefined ? [] : await read(bound, start);
  update(rows);
  return rows;
}
