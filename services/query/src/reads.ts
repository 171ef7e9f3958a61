import { type ClickHouseClient, type QueryCaller, type QueryReport, runCompiledQuery } from '@waymark/clickhouse';
import {
  allowedLinksFact,
  type BoundFilters,
  type CompiledQuery,
  type FactPlan,
  type PlanFacts,
  planLinks,
  planRemoved,
  printFact,
  removedLinksFact,
} from '@waymark/event-query';
import type { RemovedLinksMemory } from './removed-links.js';

export interface ReadParts {
  readonly clickhouse: ClickHouseClient;
  readonly removedLinks: RemovedLinksMemory;
  readonly now: () => number;
  /** Told of every query that ended by itself. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** Whose request the reads are for. */
export interface ReadCaller extends QueryCaller {
  readonly signal: AbortSignal;
}

/** The reads of one request. All throw ApiError when ClickHouse gave up or is away. */
export interface Reads {
  run<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Row[]>;
  /** The sum that the plan asks for; undefined when it asks for none. */
  sum(plan: FactPlan | undefined): Promise<number | undefined>;
  removedLinks(bound: BoundFilters): Promise<PlanFacts>;
  /** @param events how many there are in the range at most */
  allowedLinks(bound: BoundFilters, events: number | undefined): Promise<PlanFacts>;
}

export function createReads(
  { clickhouse, removedLinks, now, onQuery }: ReadParts,
  { signal, ...caller }: ReadCaller,
): Reads {
  const { workspaceId } = caller;
  const run = <Row extends readonly unknown[]>(query: CompiledQuery) =>
    runCompiledQuery<Row>(clickhouse, query, { signal, caller, onReport: (report) => onQuery?.(caller, report) });

  return {
    run,

    async sum(plan) {
      if (plan === undefined) return undefined;
      const [row] = await run<[string]>(printFact(plan));
      return Number(row?.[0] ?? 0);
    },

    async removedLinks(bound) {
      const removed = planRemoved(bound);
      if (removed === undefined) return {};
      const known = removedLinks.get(workspaceId);
      if (known !== undefined) return known;
      const askedMs = now();
      const rows = await run<[string]>(printFact(removed));
      const fact = removedLinksFact(rows.map(([id]) => BigInt(id)));
      removedLinks.set(workspaceId, fact, askedMs);
      return fact;
    },

    async allowedLinks(bound, events) {
      const links = planLinks(bound, events ?? 0);
      if (links === undefined) return {};
      const rows = await run<[string]>(printFact(links));
      return allowedLinksFact(rows.map(([id]) => BigInt(id)));
    },
  };
}
