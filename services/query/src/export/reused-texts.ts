import type { EventPageRow, LinkTexts } from '../events/event-text.js';
import { YOUNG_MS } from '../events/fresh-counters.js';
import type { RowTexts } from '../events/page-text.js';

/** How long texts are used again: as long as records in the cache of a process. */
const REUSE_MS = 1000;
/** Links, and customers. */
const TEXTS_MAX = 5000;

/**
 * Uses the texts of links and customers again for the next rows of an export: most rows have links that the rows before had too, and
 * looking these up costs more than the rest of a row. Rows of the last minute get texts of their own, because their counters may be
 * just changing.
 *
 * @param read looks up the texts of rows
 */
export function reusedTexts(read: (rows: readonly EventPageRow[]) => Promise<RowTexts>, now: () => number) {
  const links = new Map<string, LinkTexts>();
  const customers = new Map<string, string>();
  /** Links without a text are known too. */
  const known = new Set<string>();
  let erased: RowTexts['erased'];
  let sinceMs = 0;
  return async (rows: readonly EventPageRow[]): Promise<RowTexts> => {
    const young = new Date(now() - YOUNG_MS).toISOString();
    if (rows.some(([, timestamp]) => timestamp > young)) return read(rows);
    if (now() - sinceMs > REUSE_MS || known.size > TEXTS_MAX || customers.size > TEXTS_MAX) {
      for (const texts of [links, customers, known]) texts.clear();
      sinceMs = now();
    }
    const isNew = ([, , link, , , , customer]: EventPageRow) =>
      !known.has(link) || (customer !== undefined && !customers.has(customer));
    const missing = rows.filter(isNew);
    if (missing.length > 0) {
      const found = await read(missing);
      erased = found.erased;
      for (const [number, text] of found.links) links.set(number, text);
      for (const [number, text] of found.customers) customers.set(number, text);
      for (const [, , number] of missing) known.add(number);
    }
    return { links, customers, erased };
  };
}
