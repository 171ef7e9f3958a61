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

/**
 * Rows of a page: first the facts that its plan depends on, then the page itself. The first page of a list is looked for where it
 * was found before.
 *
 * @throws ApiError when ClickHouse gave up or is away
 */
export async function readPage(reads: Reads, bound: BoundRequest): Promise<readonly EventPageRow[]> {
  if (bound.isEmpty) return [];
  const [events, removed, allowed] = await Promise.all([
    reads.sum(planRangeCount(bound)),
    reads.removedLinks(bound),
    reads.allowedLinks(bound),
  ]);
  if (events !== undefined && isBeyondEnd(bound, events)) return [];
  const facts = { ...allowed, ...removed, linkEvents: await reads.linkEvents(bound, allowed) };
  const read = (part: BoundRequest, start: PlannerStats) =>
    reads.run<EventPageRow>(print(plan(part, { ...facts, ...start })));

  const { near, remember } = reads.pageEdges.of(bound);
  const nearRows = near === undefined ? [] : await read(near, {});
  if (nearRows.length === bound.page.limit) {
    remember(nearRows);
    return nearRows;
  }
  const start = isFarPage(bound) ? await findStart(reads, bound, facts) : {};
  const rows = start === undefined ? [] : await read(bound, start);
  remember(rows);
  return rows;
}
