import { LRUCache } from 'lru-cache';

interface Made<Result> {
  readonly parts: readonly unknown[];
  readonly result: Result;
}

export interface MadeOfOptions<Result> {
  /** Of everything remembered together. */
  readonly sizeMax: number;
  readonly sizeOf: (result: Result) => number;
}

/**
 * Remembers what was last made of an object, as long as it is made of the same parts. Objects are told apart by identity: a
 * record that has changed is another object.
 */
export function createMadeOf<Source extends object, Parts extends readonly unknown[], Result>(
  make: (source: Source, ...parts: Parts) => Result,
  { sizeMax, sizeOf }: MadeOfOptions<Result>,
): (source: Source, ...parts: Parts) => Result {
  const made = new LRUCache<Source, Made<Result>>({
    maxSize: sizeMax,
    sizeCalculation: ({ result }) => sizeOf(result),
  });
  return (source, ...parts) => {
    const known = made.get(source);
    if (known?.parts.length === parts.length && parts.every((part, index) => part === known.parts[index])) {
      return known.result;
    }
    const result = make(source, ...parts);
    made.set(source, { parts, result });
    return result;
  };
}
