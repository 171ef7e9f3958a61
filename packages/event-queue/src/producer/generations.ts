/** Limits of one generation, that is of each of the two maps of the cache. */
export interface GenerationsOptions<Value> {
  readonly entriesMax: number;
  /** Limit on the total weight of a generation's values, as measured by `weigh`. */
  readonly weightMax?: number;
  readonly weigh?: (value: Value) => number;
}

/** A bounded cache that keeps the entries that were added last. */
export interface Generations<Value> {
  get(key: string): Value | undefined;
  add(key: string, value: Value): void;
}

/**
 * A cache of two maps: when the young one is full, it replaces the old one, whose entries are evicted together. Evicting entries
 * one by one from a single map would be slow, because a map's iterator steps over every entry deleted before.
 */
export function createGenerations<Value>(options: GenerationsOptions<Value>): Generations<Value> {
  const { entriesMax, weightMax = Number.POSITIVE_INFINITY, weigh = () => 0 } = options;
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  let weight = 0;
  return {
    get: (key) => young.get(key) ?? old.get(key),
    add(key, value) {
      if (young.size >= entriesMax || weight >= weightMax) {
        old = young;
        young = new Map();
        weight = 0;
      }
      young.set(key, value);
      weight += weigh(value);
    },
  };
}
