import { type BoundRequest, isBeyondEnd, plan, planCount, print } from '@waymark/event-query';
import type { Reads } from '../reads.js';
import type { EventPageRow } from './event-text.js';

/**
 * Rows of a page: first the facts that its plan depends on, then the page itself.
 *
 * @throws ApiError when ClickHouse gave up or is away
 */
export async function readPage(reads: Reads, bound: BoundRequest): Promise<readonly EventPageRow[]> {
  if (bound.isEmpty) return [];
  const [events, removed] = await Promise.all([reads.sum(planCount(bound)), reads.hasRemovedLinks(bound)]);
  if (events !== undefined && isBeyondEnd(bound, events)) return [];
  const links = await reads.allowedLinks(bound, events);
  return reads.run<EventPageRow>(print(plan(bound, { ...links, ...removed })));
}
