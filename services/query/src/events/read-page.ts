import { randomUUID } from 'node:crypto';
import { type ClickHouseClient, runCompiledQuery } from '@waymark/clickhouse';
import {
  allowedLinksFact,
  type BoundRequest,
  type CompiledQuery,
  isBeyondEnd,
  type PlanFacts,
  plan,
  planCount,
  planLinks,
  planRemoved,
  print,
  printFact,
} from '@waymark/event-query';
import type { RemovedLinksMemory } from '../removed-links.js';
import type { EventPageRow } from './event-text.js';

export interface ReadPageParts {
  readonly clickhouse: ClickHouseClient;
  readonly removedLinks: RemovedLinksMemory;
  readonly now: () => number;
}

interface ReadPageOptions {
  readonly workspaceId: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * Rows of a page: first the facts that its plan depends on, then the page itself.
 *
 * @throws ApiError when ClickHouse gave up or is away
 */
export async function readPage(
  { clickhouse, removedLinks, now }: ReadPageParts,
  bound: BoundRequest,
  { workspaceId, requestId, signal }: ReadPageOptions,
): Promise<readonly EventPageRow[]> {
  if (bound.isEmpty) return [];
  // The id of a request may come from a proxy, which may repeat it; ClickHouse refuses an id that is running already.
  const run = <Row extends readonly unknown[]>(query: CompiledQuery) =>
    runCompiledQuery<Row>(clickhouse, query, { signal, queryId: `${requestId}/${randomUUID()}` });

  async function eventsAtMost(): Promise<number | undefined> {
    const count = planCount(bound);
    if (count === undefined) return undefined;
    const [row] = await run<[string]>(printFact(count));
    return Number(row?.[0] ?? 0);
  }

  async function allowedLinks(events: number | undefined): Promise<PlanFacts> {
    const links = planLinks(bound, events ?? 0);
    if (links === undefined) return {};
    const rows = await run<[string]>(printFact(links));
    return allowedLinksFact(rows.map(([id]) => BigInt(id)));
  }

  async function hasRemovedLinks(): Promise<PlanFacts> {
    const removed = planRemoved(bound);
    if (removed === undefined) return {};
    const known = removedLinks.get(workspaceId);
    if (known !== undefined) return { hasRemovedLinks: known };
    const askedMs = now();
    const rows = await run<[string]>(printFact(removed));
    removedLinks.set(workspaceId, rows.length > 0, askedMs);
    return { hasRemovedLinks: rows.length > 0 };
  }

  const [events, removed] = await Promise.all([eventsAtMost(), hasRemovedLinks()]);
  if (events !== undefined && isBeyondEnd(bound, events)) return [];
  const links = await allowedLinks(events);
  return run<EventPageRow>(print(plan(bound, { ...links, ...removed })));
}
