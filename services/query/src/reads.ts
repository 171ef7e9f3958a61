import { type ClickHouseClient, type QueryCaller, type QueryReport, runCompiledQuery } from '@waymark/clickhouse';
import {
  allowedLinksStats,
  type BoundFilters,
  type CompiledQuery,
  type PlannerStats,
  planAllowedLinks,
  planLinkEventCount,
  planRemovedLinks,
  planTotalCount,
  printStats,
  removedLinksStats,
  type StatsPlan,
} from '@waymark/event-query';
import type { PageEdges } from './events/page-edges.js';
import { queryKey } from './link-sets.js';
import { kindKey, type PlanCache } from './plan-cache.js';

export interface ReadParts {
  readonly clickhouse: ClickHouseClient;
  readonly planCache: PlanCache;
  /** Events are deleted after a time, counters stay. */
  readonly eventsExpire?: boolean | undefined;
  /** Told of every query that ended by itself. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** Whose request the reads are for. */
export interface ReadCaller extends QueryCaller {
  readonly signal: AbortSignal;
}

/** The reads of one request. All throw ApiError when ClickHouse gave up or is away. */
export interface Reads {
  readonly eventsExpire: boolean;
  readonly pageEdges: PageEdges;
  run<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Row[]>;
  /** The sum that the plan asks for; undefined when it asks for none. */
  sum(plan: StatsPlan | undefined): Promise<number | undefined>;
  removedLinks(bound: BoundFilters): Promise<PlannerStats>;
  allowedLinks(bound: BoundFilters): Promise<PlannerStats>;
  /** How many events a few links have, more or less; 0 where it does not matter. */
  linkEvents(bound: BoundFilters, facts: PlannerStats): Promise<number>;
}

export function createReads(
  { clickhouse, planCache, eventsExpire = false, onQuery }: ReadParts,
  { signal, ...caller }: ReadCaller,
): Reads {
  const { workspaceId } = caller;
  const run = <Row extends readonly unknown[]>(query: CompiledQuery) =>
    runCompiledQuery<Row>(clickhouse, query, { signal, caller, onReport: (report) => onQuery?.(caller, report) });

  async function sum(plan: StatsPlan | undefined): Promise<number | undefined> {
    if (plan === undefined) return undefined;
    const [row] = await run<[string]>(printStats(plan));
    return Number(row?.[0] ?? 0);
  }

  /** A sum on which only the way to the answer depends: an old one will do. */
  async function roughSum(key: string, plan: StatsPlan | undefined): Promise<number> {
    if (plan === undefined) return 0;
    return planCache.eventCounts.get(key) ?? planCache.eventCounts.refresh(key, async () => (await sum(plan)) ?? 0);
  }

  return {
    eventsExpire,
    pageEdges: planCache.pageEdges,
    run,
    sum,

    async removedLinks(bound) {
      const removed = planRemovedLinks(bound);
      if (removed === undefined) return {};
      const read = async () => removedLinksStats((await run<[string]>(printStats(removed))).map(([id]) => BigInt(id)));
      return planCache.removedLinks.get(workspaceId) ?? planCache.removedLinks.refresh(workspaceId, read);
    },

    async allowedLinks(bound) {
      const events = await roughSum(kindKey(workspaceId, bound.kind), planTotalCount(bound));
      const links = planAllowedLinks(bound, events);
      if (links === undefined) return {};
      const query = printStats(links);
      const read = async () => allowedLinksStats((await run<[string]>(query)).map(([id]) => BigInt(id)));
      return planCache.linkSets.find(workspaceId, query, { read, isEager: bound.isLinkFilterSelective });
    },

    linkEvents(bound, facts) {
      const plan = planLinkEventCount(bound, facts);
      return roughSum(plan === undefined ? '' : `${workspaceId}/${queryKey(printStats(plan))}`, plan);
    },
  };
}
