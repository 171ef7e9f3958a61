import {
  type ClickHouseClient,
  type QueryCaller,
  type QueryReport,
  runCompiledQuery,
  runLargeQuery,
} from '@waymark/clickhouse';
import { type EventKind, formatResourceId, parseResourceId } from '@waymark/contract';
import {
  allowedLinksStats,
  areManyEvents,
  type BoundFilters,
  type CompiledQuery,
  type PlannerStats,
  planAllowedLinks,
  planAllRemovedLinks,
  planLinkEventCount,
  planRemovedLinks,
  planTotalCount,
  printStats,
  REMOVED_LINKS_MAX,
  removedLinksStats,
  type StatsPlan,
} from '@waymark/event-query';
import type { FirstPageHints } from './events/first-page-hints.js';
import { queryKey } from './link-sets.js';
import { kindKey, type PlanCache, type RemovedLinks } from './plan-cache.js';

export interface ReadDeps {
  readonly clickhouse: ClickHouseClient;
  readonly planCache: PlanCache;
  /** Whether events expire, while the totals of links do not. */
  readonly eventsExpire?: boolean | undefined;
  /** Called after each query that was not cancelled. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** The request that the reads are for. */
export interface ReadCaller extends QueryCaller {
  /** Whether events of the workspace expire, or have, earlier than those of the installation. */
  readonly eventsExpire?: boolean | undefined;
  readonly signal: AbortSignal;
}

/** The database reads of one request. All throw ApiError when ClickHouse exceeds a limit or is unavailable. */
export interface Reads {
  readonly eventsExpire: boolean;
  readonly firstPageHints: FirstPageHints;
  run<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Row[]>;
  /** For thousands of rows: parses each when it is asked for. */
  runLarge<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Iterable<Row>>;
  /** Runs the query for a sum; undefined when there is no query. */
  sum(plan: StatsPlan | undefined): Promise<number | undefined>;
  /** The removed links that have events. */
  removedLinks(bound: BoundFilters): Promise<PlannerStats>;
  /** What {@link removedLinks} would return without a query; undefined when it needs one. */
  knownRemovedLinks(bound: BoundFilters): PlannerStats | undefined;
  /** The links that the filters on links select, unless there are no such filters, and how many events the workspace has. */
  allowedLinks(bound: BoundFilters): Promise<PlannerStats>;
  /** Runs the query for the number of events of a kind in the workspace, or returns a recent result; undefined when there is no query. */
  kindEvents(kind: EventKind, plan: StatsPlan | undefined): Promise<number | undefined>;
  /** Approximate number of events of the links of the request, if they are few; otherwise 0, because the plan does not depend on it. */
  linkEvents(bound: BoundFilters, stats: PlannerStats): Promise<number>;
}

export function createReads(
  { clickhouse, planCache, eventsExpire = false, onQuery }: ReadDeps,
  { signal, eventsExpire: ofWorkspace = false, ...caller }: ReadCaller,
): Reads {
  const { workspaceId } = caller;
  const options = { signal, caller, onReport: (report: QueryReport) => onQuery?.(caller, report) };
  const run = <Row extends readonly unknown[]>(query: CompiledQuery) =>
    runCompiledQuery<Row>(clickhouse, query, options);

  async function sum(plan: StatsPlan | undefined): Promise<number | undefined> {
    if (plan === undefined) return undefined;
    const [row] = await run<[string]>(printStats(plan));
    return Number(row?.[0] ?? 0);
  }

  /** A cached sum. May be outdated, because it affects only the speed of a query, never its result. */
  async function cachedSum(key: string, plan: StatsPlan): Promise<number> {
    return planCache.eventCounts.get(key) ?? planCache.eventCounts.refresh(key, async () => (await sum(plan)) ?? 0);
  }

  async function readKindEvents(kind: EventKind, plan: StatsPlan | undefined): Promise<number | undefined> {
    return plan === undefined ? undefined : cachedSum(kindKey(workspaceId, kind), plan);
  }

  /** Adds the links that were removed lately, which may be about to get events. */
  function withLateRemoved(stats: RemovedLinks): RemovedLinks {
    if (stats.removedLinks === undefined) return stats;
    const late = planCache.lateRemoved(workspaceId).flatMap((id) => parseResourceId('link', id) ?? []);
    const links = new Set([...stats.removedLinks, ...late.map(BigInt)]);
    if (links.size > REMOVED_LINKS_MAX) return { hasRemovedLinks: true, isPassing: true };
    return removedLinksStats([...links]);
  }

  const knownRemovedLinks = (bound: BoundFilters) =>
    planRemovedLinks(bound) === undefined ? {} : planCache.removedLinks.get(workspaceId);

  return {
    eventsExpire: eventsExpire || ofWorkspace,
    firstPageHints: planCache.firstPageHints,
    run,
    runLarge: (query) => runLargeQuery(clickhouse, query, options),
    sum,

    async removedLinks(bound) {
      const known = knownRemovedLinks(bound);
      const removed = planRemovedLinks(bound);
      if (known !== undefined || removed === undefined) return known ?? {};
      const ids = async (plan: StatsPlan) => (await run<[string]>(printStats(plan))).map(([id]) => id);
      const read = async (): Promise<RemovedLinks> => {
        const all = await ids(planAllRemovedLinks(bound));
        const withEvents = all.length === 0 ? [] : await ids(removed);
        const allRemovedIds =
          all.length > REMOVED_LINKS_MAX ? undefined : new Set(all.map((id) => formatResourceId('link', id)));
        return { ...withLateRemoved(removedLinksStats(withEvents.map(BigInt))), allRemovedIds };
      };
      return planCache.removedLinks.refresh(workspaceId, read);
    },
    knownRemovedLinks,

    async allowedLinks(bound) {
      const kindEvents = await readKindEvents(bound.kind, planTotalCount(bound));
      if (kindEvents === undefined) return {};
      const links = planAllowedLinks(bound, kindEvents);
      if (links === undefined) return { kindEvents };
      const query = printStats(links);
      const read = async () => allowedLinksStats((await run<[string]>(query)).map(([id]) => BigInt(id)));
      const isEager = bound.isLinkFilterSelective && areManyEvents({ kindEvents });
      return { kindEvents, ...(await planCache.linkSets.find(workspaceId, query, { read, isEager })) };
    },

    kindEvents: readKindEvents,

    async linkEvents(bound, stats) {
      const plan = planLinkEventCount(bound, stats);
      return plan === undefined ? 0 : cachedSum(`${workspaceId}/${queryKey(printStats(plan))}`, plan);
    },
  };
}
