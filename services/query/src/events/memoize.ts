import { LRUCache } from 'lru-cache';

interface Entry<Result> {
  readonly args: readonly unknown[];
  readonly result: Result;
}

export interface MemoizeOptions<Result> {
  /** Bound of the sum of the sizes of all cached results. */
  readonly sizeMax: number;
  readonly sizeOf: (result: Result) => number;
}

/**
 * Caches the last result of a function for each source object, as long as the other arguments stay the same. All are compared by
 * identity: a changed record is another object.
 */
export function memoize<Source extends object, Args extends readonly unknown[], Result>(
  compute: (source: Source, ...args: Args) => Result,
  { sizeMax, sizeOf }: MemoizeOptions<Result>,
): (source: Source, ...args: Args) => Result {
  const cache = new LRUCache<Source, Entry<Result>>({
    maxSize: sizeMax,
    sizeCalculation: ({ result }) => sizeOf(result),
  });
  return (source, ...args) => {
    const cached = cache.get(source);
    if (cached?.args.length === args.length && args.every((arg, index) => arg === cached.args[index])) {
      return cached.result;
    }
    const result = compute(source, ...args);
    cache.set(source, { args, result });
    return result;
  };
}
