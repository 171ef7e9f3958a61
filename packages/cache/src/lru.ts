import { LRUCache } from 'lru-cache';

/** Limits the sizes of the values of a cache as well as their number: together to that number times `each`. */
export interface SizeBound<Key, Value> {
  /** The size up to which a value counts as one entry, a whole number of at least 1; a larger one takes the room of several. */
  readonly each: number;
  /** The size of a value, which must not change later. */
  readonly of: (value: Value, key: Key) => number;
}

/**
 * Creates a cache that evicts the least recently used entries. Its memory grows with its entries. `new LRUCache({ max })` would allocate
 * the memory for `max` entries at once, which was a quarter of the memory of an idle process. A value that is larger than the whole cache
 * is not kept.
 */
export function createLru<Key extends {}, Value extends {}>(
  entriesMax: number,
  { each, of }: SizeBound<Key, Value> = { each: 1, of: () => 1 },
): LRUCache<Key, Value> {
  return new LRUCache({
    maxSize: entriesMax * each,
    sizeCalculation: (value, key) => Math.max(each, of(value, key)),
  });
}
