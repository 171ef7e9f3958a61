import type { ExportSource } from '@waymark/export';

/** Reads the items of a source in groups of at most a given size. A group never spans two slices of the source. */
export interface ItemReader {
  /** Whether all items were taken. */
  isAtEnd(): Promise<boolean>;
  /** Takes the next items, at most `countMax`: at least one, unless all were taken. */
  take(countMax: number): Promise<readonly string[]>;
}

/** Creates a reader, which begins at the first item of the source. */
export function createItemReader(source: ExportSource): ItemReader {
  const slices = source[Symbol.asyncIterator]();
  let items: readonly string[] = [];
  let isDone = false;

  async function isAtEnd(): Promise<boolean> {
    while (items.length === 0 && !isDone) {
      const next = await slices.next();
      if (next.done === true) isDone = true;
      else items = next.value.items;
    }
    return items.length === 0;
  }

  return {
    isAtEnd,
    async take(countMax) {
      await isAtEnd();
      const taken = items.slice(0, countMax);
      items = items.slice(countMax);
      return taken;
    },
  };
}
