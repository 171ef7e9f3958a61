import type { EventKind } from '@waymark/contract';
import { mapYielding, memoryOf } from '@waymark/http-kit';
import type { EventPageRow } from './event-text.js';
import type { Caller } from './find-references.js';
import { itemText, type PageTextDeps, type RowTexts, textsOfRows } from './page-text.js';

/** How many links, and how many customers, are read together for the first rows of a page: the most that an ordinary page has. */
const FIRST_TEXTS = 100;
/** How many further links, and customers, are read together at most, because they may be larger than those before. */
const TEXTS_MAX = 250;
/** How many characters the links and customers that are read together for further rows should have. */
const TEXTS_CHARS = 4_000_000;

/** Some items of a page, which share texts of links and customers. */
export interface PageItems {
  readonly items: readonly string[];
  /** Bytes of the shared texts in memory. */
  readonly textBytes: number;
}

/** The bytes of the payloads of rows in memory. */
export const memoryOfRows = (rows: readonly EventPageRow[]): number =>
  rows.reduce((sum, [, , , payload]) => sum + memoryOf(payload), 0);

function memoryOfTexts({ links, customers }: RowTexts): number {
  let bytes = 0;
  for (const { link } of links.values()) bytes += memoryOf(link);
  for (const text of customers.values()) bytes += memoryOf(text);
  return bytes;
}

/** Splits rows into groups with a limited number of different links, and of customers. @param textsMax returns the limit for the next group */
function* groupsOf(rows: readonly EventPageRow[], textsMax: () => number): Generator<readonly EventPageRow[]> {
  let start = 0;
  let max = textsMax();
  if (rows.length > 0 && rows.length <= max) {
    yield rows;
    return;
  }
  const [links, customers] = [new Set<string>(), new Set<string>()];
  for (const [index, [, , link, , , , customer]] of rows.entries()) {
    const isFull =
      (links.size >= max && !links.has(link)) ||
      (customer !== undefined && customers.size >= max && !customers.has(customer));
    if (isFull) {
      yield rows.slice(start, index);
      start = index;
      max = textsMax();
      links.clear();
      customers.clear();
    }
    links.add(link);
    if (customer !== undefined) customers.add(customer);
  }
  if (start < rows.length) yield start === 0 ? rows : rows.slice(start);
}

/**
 * The items of a page as JSON text, without those of links that were removed or hidden. Links with images as data URLs may have 100 kB each, so
 * the links of many rows are read in groups, each when the items of the group before it have been taken.
 *
 * @param first reads what the first items show, with what was prefetched for the page
 * @param later reads what further items show
 */
export async function* pageItems(
  { first, later }: { readonly first: PageTextDeps; readonly later: PageTextDeps },
  caller: Caller,
  kind: EventKind,
  rows: readonly EventPageRow[],
): AsyncGenerator<PageItems> {
  let textsMax = FIRST_TEXTS;
  let deps = first;
  for (const group of groupsOf(rows, () => textsMax)) {
    const texts = await textsOfRows(deps, caller, kind, group, rows);
    const items = await mapYielding(group, (row) => itemText(caller, kind, row, texts));
    const textBytes = memoryOfTexts(texts);
    const textsRead = Math.max(1, texts.links.size, texts.customers.size);
    const textsLike = Math.floor((TEXTS_CHARS * textsRead) / Math.max(1, textBytes));
    textsMax = Math.min(TEXTS_MAX, Math.max(1, textsLike));
    deps = later;
    yield { items: items.filter((text) => text !== undefined), textBytes };
  }
}
