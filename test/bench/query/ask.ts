import type { ClickHouseClient } from '@waymark/clickhouse';
import { analyticsQuerySchema, eventsQuerySchema } from '@waymark/contract';
import { bind, bindAnalytics, parse, parseAnalytics, parseCursor } from '@waymark/event-query';
import { createPlanCache, createReads, type PlanCache, type Reads, readGroups, readPage } from '@waymark/query';
import type { KnownWorkspace } from './dataset/generate.js';
import { END_MS, START_MS } from './dataset/world.js';
import type { Family } from './families/event-families.js';
import { programOf } from './families/event-families.js';

const now = () => END_MS;

/** Asks one system a question and gives how many rows it answered. */
export type Ask = (family: Family) => Promise<number>;

function readsOf(client: ClickHouseClient, workspace: KnownWorkspace, planCache = createPlanCache(now, () => true)) {
  const { signal } = new AbortController();
  const caller = { endpoint: 'bench', workspaceId: workspace.publicId, requestId: 'bench', signal };
  return createReads({ clickhouse: client, planCache }, caller);
}

function scopeOf({ publicId, rank }: KnownWorkspace) {
  return { workspaceId: publicId, programId: programOf(rank) };
}

function pagesOf(reads: Reads, workspace: KnownWorkspace): Ask {
  return async ({ query }) => {
    const parsed = eventsQuerySchema.parse(query);
    const cursor = parseCursor({ query: parsed, workspaceId: workspace.publicId });
    const rows = await readPage(reads, bind(parse(parsed, END_MS, cursor), scopeOf(workspace)));
    return rows.length;
  };
}

/** Reads pages as the query service does. That the workspace removed links or not is known, as it is while it is asked often. */
export function askForPages(client: ClickHouseClient, workspace: KnownWorkspace): Ask {
  return pagesOf(readsOf(client, workspace), workspace);
}

/** Of workspaces what is known otherwise, of lists nothing. */
function planCacheWithoutLists(): PlanCache {
  const planCache = createPlanCache(now, () => true);
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

/** The same of lists that nobody asked for before: where their first pages lie and which links they have is not known. */
export function askForNewLists(client: ClickHouseClient, workspace: KnownWorkspace): Ask {
  return pagesOf(readsOf(client, workspace, planCacheWithoutLists()), workspace);
}

/** Reads groups as the query service does. */
export function askForGroups(client: ClickHouseClient, workspace: KnownWorkspace): Ask {
  const reads = readsOf(client, workspace);
  return async ({ query }) => {
    const parsed = parseAnalytics(analyticsQuerySchema.parse(query), { nowMs: END_MS, createdAtMs: START_MS });
    return (await readGroups(reads, bindAnalytics(parsed, scopeOf(workspace)))).length;
  };
}

/** The baseline, on as many threads. */
export function askBaseline(client: ClickHouseClient): Ask {
  return async ({ baseline }) => {
    const rows = await client.rows({ query: baseline, settings: { max_threads: 2, max_execution_time: 120 } });
    return rows.length;
  };
}
