import { createHash, randomUUID } from 'node:crypto';
import { createDataLoader } from '@waymark/cache';
import type { EventKind } from '@waymark/contract';
import { type BoundFilters, type EventSetFilters, planEventSet, printEventSet } from '@waymark/event-query';
import { createFairQueue } from '@waymark/rate-limit';
import type { EventPageRow } from '../events/event-text.js';
import { createReads, type ReadDeps, type Reads } from '../reads.js';
import type { ReadRunners } from '../workspace-concurrency.js';

/** Some new events, and the filters of a subscription. */
export interface RowRequest {
  readonly workspaceId: string;
  readonly kind: EventKind;
  readonly ids: readonly string[];
  readonly bound: BoundFilters;
  /** Identifies the filters: requests with the same key have the same filters. */
  readonly filterKey: string;
}

/** Reads the rows of the events that pass the filters, in no particular order. */
export type ReadRows = (request: RowRequest) => Promise<readonly EventPageRow[]>;

export interface ReadRowsDeps extends ReadDeps, Pick<ReadRunners, 'runSharedRead'> {}

/** Limit on the filters that share one query. */
const FILTERS_MAX = 20;
/** Concurrent reads of the streams of one workspace: fewer than it may run, so that requests for its pages need not wait for streams. */
const READS_MAX = 3;
/**
 * Limits on the reads of all streams together that run or wait in the queue of all reads: high enough that the streams of a few workspaces,
 * which wait for other requests of their workspace, do not hold up those of others; low enough that pages wait behind few of them.
 */
const PLACES = { runningMax: 20, runningPerOwnerMax: READS_MAX, waitingMax: 0, waitingPerOwnerMax: 0, waitMsMax: 0 };

/** Columns of an {@link EventPageRow}. A shared query adds one for each filter: whether the row passes. */
function columnCount(kind: EventKind): number {
  return kind === 'clicks' ? 5 : 7;
}

/** Identifies the requests of a workspace that can share one query: those for the same events. */
function groupOf({ kind, ids }: RowRequest): string {
  return `${kind} ${createHash('sha1').update(ids.join(' ')).digest('base64')}`;
}

const keyOf = (request: RowRequest) => `${groupOf(request)} ${request.filterKey}`;

/**
 * Creates the reader of all streams. Requests for the same events of a workspace share one query. That is the case whenever a batch was
 * stored, so many different filters cost little more than one. The streams of a workspace do not wait for those of a few others, but while 20 reads of
 * streams run or wait for the queue they wait for one of these places.
 */
export function createReadRows(deps: ReadRowsDeps): ReadRows {
  // Never aborted: the query is shared, so a stream that ends must not cancel it for the others.
  const { signal } = new AbortController();

  async function withStats(reads: Reads, { bound }: RowRequest): Promise<EventSetFilters> {
    if (bound.isEmpty) return { bound, stats: {} };
    const [removed, allowed] = await Promise.all([reads.removedLinks(bound), reads.allowedLinks(bound)]);
    return { bound, stats: { ...allowed, ...removed } };
  }

  /** The rows of each request, read with one query. The requests must be for the same events. */
  async function readTogether(reads: Reads, requests: readonly RowRequest[]): Promise<EventPageRow[][]> {
    const [first, ...others] = requests;
    if (first === undefined) return [];
    const filters = await Promise.all([withStats(reads, first), ...others.map((other) => withStats(reads, other))]);
    const rows = await reads.run<unknown[]>(printEventSet(planEventSet(filters as [EventSetFilters], first.ids)));
    const columns = columnCount(first.kind);
    return requests.map((_request, index) =>
      rows
        .filter((row) => others.length === 0 || Boolean(row[columns + index]))
        .map((row) => row.slice(0, columns) as unknown as EventPageRow),
    );
  }

  /** If the shared query fails, one filter may be the cause, so each is read alone. */
  async function readEach(reads: Reads, requests: readonly RowRequest[]): Promise<EventPageRow[][]> {
    try {
      return await readTogether(reads, requests);
    } catch (err) {
      if (requests.length === 1) throw err;
      return (await Promise.all(requests.map((request) => readTogether(reads, [request])))).flat();
    }
  }

  const places = createFairQueue(PLACES);

  const createLoader = (workspaceId: string) =>
    createDataLoader<RowRequest, readonly EventPageRow[]>({
      identify: keyOf,
      group: groupOf,
      async load(requests) {
        const caller = { endpoint: 'GET /events/stream', workspaceId, requestId: randomUUID(), signal };
        const reads = createReads(deps, caller);
        const inTurn = () => deps.runSharedRead(workspaceId, () => readEach(reads, requests));
        // However many wait for a place: each workspace has at most as many as it reads at a time.
        const rows = await places.runPatiently(workspaceId, inTurn);
        return new Map(requests.map((request, index) => [keyOf(request), rows[index] ?? []]));
      },
      batchSizeMax: FILTERS_MAX,
      concurrentReadsMax: READS_MAX,
    });

  /** The loader of each workspace that reads, and its calls that have not ended. */
  const loaders = new Map<string, { readonly load: ReturnType<typeof createLoader>; calls: number }>();

  return async (request) => {
    const { workspaceId } = request;
    const loader = loaders.get(workspaceId) ?? { load: createLoader(workspaceId), calls: 0 };
    loaders.set(workspaceId, loader);
    loader.calls += 1;
    try {
      return (await loader.load(request)) ?? [];
    } finally {
      loader.calls -= 1;
      if (loader.calls === 0) loaders.delete(workspaceId);
    }
  };
}
