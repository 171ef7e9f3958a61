import {
  type ClickHouseClient,
  EVENT_EXPIRY_QUERY,
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
import { EXPIRY_KEY, kindKey, type PlannerCache, type RemovedLinks } from './planner-cache.js';

export interface ReadDeps {
  readonly clickhouse: ClickHouseClient;
  readonly planCache: PlannerCache;
  /** Whether events expire (`EVENT_RETENTION_DAYS`). The totals of links do not expire with them. */
  readonly eventsExpire?: boolean | undefined;
  /** Called after each query that was not cancelled. */
  readonly onQuery?: ((caller: QueryCaller, report: QueryReport) => void) | undefined;
}

/** The request that the reads are for. */
export interface ReadCaller extends QueryCaller {
  /** Whether events of the workspace expire, or have expired, by a retention of its own. */
  readonly eventsExpire?: boolean | undefined;
  readonly signal: AbortSignal;
}

/** The database reads of one request. All throw ApiError when ClickHouse exceeds a limit or is unavailable. */
export interface Reads {
  /** Whether there may be fewer events than the totals of links, because some have expired. */
  eventsExpire(): Promise<boolean>;
  readonly firstPageHints: FirstPageHints;
  /** Runs a query. @returns its rows, each an array in the column order of the query */
  run<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Row[]>;
  /** {@link run} for thousands of rows: each row is parsed when the caller iterates to it. */
  runLarge<Row extends readonly unknown[]>(query: CompiledQuery): Promise<Iterable<Row>>;
  /** Runs the query for a sum; undefined when there is no query. */
  sum(plan: StatsPlan | undefined): Promise<number | undefined>;
  /** The removed links that have events. */
  removedLinks(bound: BoundFilters): Promise<PlannerStats>;
  /** The result of {@link removedLinks} if no query is needed for it; otherwise undefined. */
  knownRemovedLinks(bound: BoundFilters): PlannerStats | undefined;
  /** Approximate number of events of the workspace, and the links that the filters on links select, if there are such filters. */
  allowedLinks(bound: BoundFilters): Promise<PlannerStats>;
  /** Number of events of a kind in the workspace, possibly from a cache; undefined when there is no query. */
  kindEvents(kind: EventKind, plan: StatsPlan | undefined): Promise<number | undefined>;
  /** Approximate number of events of the links of the request, if the plan depends on it; otherwise 0. */
  linkEvents(bound: BoundFilters, stats: PlannerStats): Promise<number>;
}

/** Creates the reads of one request. They are cancelled when the signal of the caller aborts. */
export function createReads(
  { clickhouse, planCache, eventsExpire = false, onQuery }: ReadDeps,
  { signal, eventsExpire: eventsOfWorkspaceExpire = false, ...caller }: ReadCaller,
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

  /** Adds the links that were removed recently, whose last events may be about to be stored. */
  function withRecentlyRemoved(stats: RemovedLinks): RemovedLinks {
    if (stats.removedLinks === undefined) return stats;
    const recent = planCache.recentlyRemoved(workspaceId).flatMap((id) => parseResourceId('link', id) ?? []);
    const links = new Set([...stats.removedLinks, ...recent.map(BigInt)]);
    if (links.size > REMOVED_LINKS_MAX) return { hasRemovedLinks: true, isTemporary: true };
    return removedLinksStats([...links]);
  }

  const knownRemovedLinks = (bound: BoundFilters) =>
    planRemovedLinks(bound) === undefined ? {} : planCache.removedLinks.get(workspaceId);

  return {
    async eventsExpire() {
      if (eventsExpire || eventsOfWorkspaceExpire) return true;
      // The setting may have been removed: expired events do not come back with that.
      const read = async () => (await run<[number]>(EVENT_EXPIRY_QUERY))[0]?.[0] === 1;
      return planCache.eventExpiry.get(EXPIRY_KEY) ?? planCache.eventExpiry.refresh(EXPIRY_KEY, read);
    },
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
        return { ...withRecentlyRemoved(removedLinksStats(withEvents.map(BigInt))), allRemovedIds };
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
