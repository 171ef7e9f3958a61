import {
  type BoundRequest,
  isBeyondEnd,
  isFarPage,
  type PlanFacts,
  plan,
  planCount,
  planLinkEvents,
  print,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';
import type { EventPageRow } from './event-text.js';
import { findStart } from './page-start.js';

/**
 * Rows of a page: first the facts that its plan depends on, then the page itself. The first page of a list is looked for where it
 * was found before; there, a few links have so few events that nothing has to be known of them.
 *
 * @throws ApiError when ClickHouse gave up or is away
 */
export async function readPage(reads: Reads, bound: BoundRequest): Promise<readonly EventPageRow[]> {
  if (bound.isEmpty) return [];
  const [events, removed, allowed] = await Promise.all([
    reads.sum(planCount(bound)),
    reads.removedLinks(bound),
    reads.allowedLinks(bound),
  ]);
  if (events !== undefined && isBeyondEnd(bound, events)) return [];
  const links = { ...allowed, ...removed };
  const read = (part: BoundRequest, facts: PlanFacts) => reads.run<EventPageRow>(print(plan(part, facts)));

  const { near, remember } = reads.pageEdges.of(bound);
  const nearRows = near === undefined ? [] : await read(near, links);
  const isFull = nearRows.length === bound.page.limit;
  const rows = isFull ? nearRows : await readAll();
  remember(rows);
  return rows;

  async function readAll() {
    const facts = { ...links, linkEvents: await reads.sum(planLinkEvents(bound, allowed)) };
    const start = isFarPage(bound) ? await findStart(reads, bound, facts) : {};
    return start === undefined ? [] : read(bound, { ...facts, ...start });
  }
}
