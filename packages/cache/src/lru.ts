import { LRUCache } from 'lru-cache';

/**
 * A cache that evicts the entries used longest ago. It takes memory for the entries that it has: `new LRUCache({ max })` takes that of
 * `max` entries at once, which was a quarter of what an idle process used.
 */
export function createLru<Key extends {}, Value extends {}>(entriesMax: number): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
}
