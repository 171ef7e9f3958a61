import type { ClickHouseClient } from '@waymark/clickhouse';
import { analyticsQuerySchema, eventsQuerySchema } from '@waymark/contract';
import { bind, bindAnalytics, parse, parseAnalytics, parseCursor } from '@waymark/event-query';
import { createPlannerCache, createReads, type PlannerCache, type Reads, readGroups, readPage } from '@waymark/query';
import type { KnownWorkspace } from './dataset/generate.js';
import { END_MS, START_MS } from './dataset/world.js';
import type { Family } from './families/event-families.js';
import { programOf } from './families/event-families.js';

const now = () => END_MS;

/** Runs a query of one system. @returns the number of rows of the result */
export type RunFamily = (family: Family) => Promise<number>;

function readsOf(client: ClickHouseClient, workspace: KnownWorkspace, planCache = createPlannerCache(now, () => true)) {
  const { signal } = new AbortController();
  const caller = { endpoint: 'bench', workspaceId: workspace.publicId, requestId: 'bench', signal };
  return createReads({ clickhouse: client, planCache }, caller);
}

function scopeOf({ publicId, rank }: KnownWorkspace) {
  return { workspaceId: publicId, programId: programOf(rank) };
}

function pagesOf(reads: Reads, workspace: KnownWorkspace): RunFamily {
  return async ({ query }) => {
    const parsed = eventsQuerySchema.parse(query);
    const cursor = parseCursor({ query: parsed, workspaceId: workspace.publicId });
    const rows = await readPage(reads, bind(parse(parsed, END_MS, cursor), scopeOf(workspace)));
    return rows.length;
  };
}

/** Reads pages as the query service does. Whether the workspace has removed links is cached, as it is for busy workspaces. */
export function pageRunner(client: ClickHouseClient, workspace: KnownWorkspace): RunFamily {
  return pagesOf(readsOf(client, workspace), workspace);
}

/** A plan cache that caches data about workspaces, but none about lists. */
function planCacheWithoutLists(): PlannerCache {
  const planCache = createPlannerCache(now, () => true);
  const { eventCounts, linkSets } = planCache;
  return {
    ...planCache,
    firstPageHints: { find: () => ({ narrowed: undefined, update: () => undefined }) },
    linkSets: { ...linkSets, find: async (_workspaceId, _query, { read, isEager }) => (isEager ? read() : {}) },
    eventCounts: {
      ...eventCounts,
      get: (key) => (/\/(clicks|leads|sales)$/.test(key) ? eventCounts.get(key) : undefined),
    },
  };
}

/** As `pageRunner`, for lists that were not requested before: their first pages and their links are not cached. */
export function newListRunner(client: ClickHouseClient, workspace: KnownWorkspace): RunFamily {
  return pagesOf(readsOf(client, workspace, planCacheWithoutLists()), workspace);
}

/** Reads groups as the query service does. */
export function groupRunner(client: ClickHouseClient, workspace: KnownWorkspace): RunFamily {
  const reads = readsOf(client, workspace);
  return async ({ query }) => {
    const parsed = parseAnalytics(analyticsQuerySchema.parse(query), { nowMs: END_MS, sinceMs: START_MS });
    return (await readGroups(reads, bindAnalytics(parsed, scopeOf(workspace)))).length;
  };
}

/** Runs the query on the baseline, with the same number of threads. */
export function baselineRunner(client: ClickHouseClient): RunFamily {
  return async ({ baseline }) => {
    const rows = await client.rows({ query: baseline, settings: { max_threads: 2, max_execution_time: 120 } });
    return rows.length;
  };
}
