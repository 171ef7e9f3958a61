import { LRUCache } from 'lru-cache';

/** Lists whose last pages are remembered, and how much of them: a kilobyte or two for most, 50 at worst. */
const LISTS_KEPT = 500;
const IDS_KEPT = 1000;

interface Memory {
  /** Of the last pages, the latest last. */
  readonly ids: Set<string>;
  /** The last page had none but these: what the next one needs can be read while its rows still are. */
  isWorthwhile: boolean;
}

/** Gives the values of a page's ids. @param late those whose values must not be from before the rows were read */
export type ValuesOf<Value> = (
  ids: readonly string[],
  late?: ReadonlySet<string>,
) => Promise<ReadonlyMap<string, Value>>;

type ReadValues<Value> = (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;

const NONE: ReadonlySet<string> = new Set();

/**
 * Reads what belongs to the rows of a page before they are there. Pages of one list have the same few ids again and again: as
 * long as those of the page before would have done, they are read together with the rows (a third of the time of a
 * request); what is missing is read after them, and so is everything once the guess failed.
 *
 * @param readLate of the moment, for those whose values must not be from before the rows
 */
export function createReadAhead<Value>(read: ReadValues<Value>, readLate: ReadValues<Value>) {
  const memories = new LRUCache<string, Memory>({ max: LISTS_KEPT });

  function remember(key: string, ids: readonly string[], wasComplete: boolean): void {
    const memory = memories.get(key) ?? { ids: new Set(), isWorthwhile: false };
    for (const id of ids) {
      memory.ids.delete(id);
      memory.ids.add(id);
    }
    for (const oldest of memory.ids) {
      if (memory.ids.size <= IDS_KEPT) break;
      memory.ids.delete(oldest);
    }
    memory.isWorthwhile = wasComplete;
    memories.set(key, memory);
  }

  return {
    /**
     * To be called when the rows of a page are asked for.
     *
     * @param list which of the workspace's lists it is a page of
     */
    begin(workspaceId: string, list: string): ValuesOf<Value> {
      const key = `${workspaceId}/${list}`;
      const memory = memories.get(key);
      const guessed = new Set(memory?.isWorthwhile ? memory.ids : []);
      const early = guessed.size === 0 ? undefined : read(workspaceId, [...guessed]);
      // Should the rows fail, nobody asks for these any more.
      early?.catch(() => undefined);
      return async (ids, late = NONE) => {
        const unknown = ids.filter((id) => !memories.get(key)?.ids.has(id));
        remember(key, ids, unknown.length === 0);
        const missing = ids.filter((id) => !late.has(id) && !guessed.has(id));
        const found = await Promise.all([
          early,
          missing.length === 0 ? undefined : read(workspaceId, missing),
          late.size === 0 ? undefined : readLate(workspaceId, [...late]),
        ]);
        const [only = new Map(), ...others] = found.filter((values) => values !== undefined);
        return others.length === 0 ? only : new Map([only, ...others].flatMap((values) => [...values]));
      };
    },
  };
}
