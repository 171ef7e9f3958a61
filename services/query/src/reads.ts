import { type ClickHouseClient, runCompiledQuery } from '@waymark/clickhouse';
import {
  allowedLinksFact,
  type BoundFilters,
  type CompiledQuery,
  type FactPlan,
  type PlanFacts,
  planLinks,
  planRemoved,
  printFact,
} from '@waymark/event-query';
import type { RemovedLinksMemory } from './removed-links.js';

export interface ReadParts {
  readonly clickhouse: ClickHouseClient;
  readonly removedLinks: RemovedLinksMemory;
  readonly now: () => number;
}

/** Whose request the reads are for. */
export interface ReadCaller {
  readonly workspaceId: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** The reads of one request. All throw ApiError when ClickHouse gave up or is away. */
export interface Reads {
  run<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Row[]>;
  /** The sum that the plan asks for; undefined when it asks for none. */
  sum(plan: FactPlan | undefined): Promise<number | undefined>;
  hasRemovedLinks(bound: BoundFilters): Promise<PlanFacts>;
  /** @param events how many there are in the range at most */
  allowedLinks(bound: BoundFilters, events: number | undefined): Promise<PlanFacts>;
}

export function createReads(
  { clickhouse, removedLinks, now }: ReadParts,
  { workspaceId, requestId, signal }: ReadCaller,
): Reads {
  const run = <Row extends readonly unknown[]>(query: CompiledQuery) =>
    runCompiledQuery<Row>(clickhouse, query, { signal, requestId });

  return {
    run,

    async sum(plan) {
      if (plan === undefined) return undefined;
      const [row] = await run<[string]>(printFact(plan));
      return Number(row?.[0] ?? 0);
    },

    async hasRemovedLinks(bound) {
      const removed = planRemoved(bound);
      if (removed === undefined) return {};
      const known = removedLinks.get(workspaceId);
      if (known !== undefined) return { hasRemovedLinks: known };
      const askedMs = now();
      const rows = await run<[string]>(printFact(removed));
      removedLinks.set(workspaceId, rows.length > 0, askedMs);
      return { hasRemovedLinks: rows.length > 0 };
    },

    async allowedLinks(bound, events) {
      const links = planLinks(bound, events ?? 0);
      if (links === undefined) return {};
      const rows = await run<[string]>(printFact(links));
      return allowedLinksFact(rows.map(([id]) => BigInt(id)));
    },
  };
}
