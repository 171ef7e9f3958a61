import { hasElapsed } from '@waymark/contract';
import type { EventPageRow, LinkTexts } from '../events/event-text.js';
import { YOUNG_MS } from '../events/fresh-counters.js';
import type { RowTexts } from '../events/page-text.js';

/** How long texts are used again, in milliseconds: as long as the process cache uses its records. */
const REUSE_MS = 1000;
/** When there are more texts of links, or of customers, all are dropped. */
const TEXTS_MAX = 5000;

/**
 * Creates the look-up of texts for an export. It uses the texts of links and customers again for the next rows: most rows have the links
 * of earlier ones, and looking a link up costs more than the rest of a row. If a row is from the last minute, all texts are looked up,
 * because the counters of its link and customer may be changing.
 *
 * @param read looks up the texts of rows
 * @param now epoch milliseconds
 */
export function reusedTexts(read: (rows: readonly EventPageRow[]) => Promise<RowTexts>, now: () => number) {
  const links = new Map<string, LinkTexts>();
  const customers = new Map<string, string>();
  /** Numbers of the links that were looked up, including removed and hidden ones, which have no text. */
  const known = new Set<string>();
  let erased: RowTexts['erased'];
  let sinceMs = 0;
  return async (rows: readonly EventPageRow[]): Promise<RowTexts> => {
    const young = new Date(now() - YOUNG_MS).toISOString();
    if (rows.some(([, timestamp]) => timestamp > young)) return read(rows);
    if (hasElapsed(sinceMs, REUSE_MS, now()) || known.size > TEXTS_MAX || customers.size > TEXTS_MAX) {
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
