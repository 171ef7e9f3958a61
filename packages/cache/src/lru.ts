import { LRUCache } from 'lru-cache';

/**
 * Creates a cache that evicts the least recently used entries. Its memory grows with its entries. `new LRUCache({ max })` would allocate
 * the memory for `max` entries at once, which was a quarter of the memory of an idle process.
 */
export function createLru<Key extends {}, Value extends {}>(entriesMax: number): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
}
