/** How much a generation holds. */
export interface GenerationsOptions<Value> {
  readonly entriesMax: number;
  /** Of all values of a generation together; none unless `weigh` is given. */
  readonly weightMax?: number;
  readonly weigh?: (value: Value) => number;
}

/** Remembers what was added last. */
export interface Generations<Value> {
  get(key: string): Value | undefined;
  add(key: string, value: Value): void;
}

/**
 * Remembers the last one to two generations: taking the oldest entry out of one map for each that comes would walk over all that
 * were taken out before.
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
