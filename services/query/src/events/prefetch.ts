import { LRUCache } from 'lru-cache';

/** How many lists have a history, and how many ids each history has: one or two kilobytes for most lists, 50 at worst. */
const LISTS_MAX = 500;
const IDS_MAX = 1000;

/** The ids on recent pages of a list. */
interface History {
  /** Ids on recent pages, most recent last. */
  readonly ids: Set<string>;
  /** Whether the last page had only ids of earlier pages, so that prefetching for the next one is likely to help. */
  isPredictive: boolean;
}

/**
 * Returns the values of a page's ids.
 *
 * @param fresh ids whose values must be read after the rows of the page
 */
export type ValuesOf<Value> = (
  ids: readonly string[],
  fresh?: ReadonlySet<string>,
) => Promise<ReadonlyMap<string, Value>>;

type ReadValues<Value> = (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;

const NONE: ReadonlySet<string> = new Set();

/**
 * Reads values without prefetching, for rows that have been read already.
 *
 * @param readFresh reads current values, for ids whose values must not be older than the rows
 */
export function createValuesReader<Value>(read: ReadValues<Value>, readFresh: ReadValues<Value>) {
  return (workspaceId: string): ValuesOf<Value> =>
    async (ids, fresh = NONE) => {
      const others = ids.filter((id) => !fresh.has(id));
      const found = await Promise.all([
        others.length === 0 ? undefined : read(workspaceId, others),
        fresh.size === 0 ? undefined : readFresh(workspaceId, [...fresh]),
      ]);
      return merged(found);
    };
}

function merged<Value>(found: readonly (ReadonlyMap<string, Value> | undefined)[]): ReadonlyMap<string, Value> {
  const [only = new Map(), ...others] = found.filter((values) => values !== undefined);
  // Later maps win: fresh values replace prefetched ones.
  return others.length === 0 ? only : new Map([only, ...others].flatMap((values) => [...values]));
}

/**
 * Prefetches values (such as totals of links) for a page while its rows are still being read. Pages of a list often have the same
 * few ids, so the ids of recent pages are a good guess; that saves a third of the time of a request. Missing values are read after
 * the rows. After a wrong guess, the next page is not prefetched.
 *
 * @param readFresh reads current values, for ids whose values must not be older than the rows
 */
export function createPrefetcher<Value>(read: ReadValues<Value>, readFresh: ReadValues<Value>) {
  const histories = new LRUCache<string, History>({ max: LISTS_MAX });

  function record(key: string, ids: readonly string[], wasPredicted: boolean): void {
    const history = histories.get(key) ?? { ids: new Set(), isPredictive: false };
    for (const id of ids) {
      history.ids.delete(id);
      history.ids.add(id);
    }
    for (const oldest of history.ids) {
      if (history.ids.size <= IDS_MAX) break;
      history.ids.delete(oldest);
    }
    history.isPredictive = wasPredicted;
    histories.set(key, history);
  }

  return {
    /**
     * Starts the prefetch for a page; call it when the read of its rows starts.
     *
     * @param list identifies the list within the workspace
     */
    start(workspaceId: string, list: string): ValuesOf<Value> {
      const key = `${workspaceId}/${list}`;
      const history = histories.get(key);
      const guessed = new Set(history?.isPredictive ? history.ids : []);
      const early = guessed.size === 0 ? undefined : read(workspaceId, [...guessed]);
      // If reading the rows fails, nothing awaits this promise: avoid an unhandled rejection.
      early?.catch(() => undefined);
      return async (ids, fresh = NONE) => {
        const unknown = ids.filter((id) => !histories.get(key)?.ids.has(id));
        record(key, ids, unknown.length === 0);
        const missing = ids.filter((id) => !fresh.has(id) && !guessed.has(id));
        const found = await Promise.all([
          early,
          missing.length === 0 ? undefined : read(workspaceId, missing),
          fresh.size === 0 ? undefined : readFresh(workspaceId, [...fresh]),
        ]);
        return merged(found);
      };
    },
  };
}
