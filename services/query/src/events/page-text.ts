import type { Catalog } from '@waymark/catalog';
import { deletedCustomer, type EventKind, formatResourceId } from '@waymark/contract';
import { type EventPageRow, eventText, type LinkTexts, linkTexts } from './event-text.js';
import { knownCustomers } from './known-customers.js';

export interface PageTextParts {
  readonly catalog: Catalog;
  readonly now: () => number;
}

/** By the number that the rows have. */
type TextsByNumber<Texts> = ReadonlyMap<string, Texts>;

async function linksOf(
  catalog: Catalog,
  workspaceId: string,
  rows: readonly EventPageRow[],
): Promise<TextsByNumber<LinkTexts>> {
  const idByNumber = new Map(rows.map(([, , number]) => [number, formatResourceId('link', number)]));
  const ids = [...idByNumber.values()];
  const [links, counters] = await Promise.all([
    catalog.links.getMany(workspaceId, ids),
    catalog.links.counters(workspaceId, ids),
  ]);
  const texts = new Map<string, LinkTexts>();
  for (const [number, id] of idByNumber) {
    const link = links.get(id);
    if (link !== undefined) texts.set(number, linkTexts(catalog.links.toLink(link, counters.get(id))));
  }
  return texts;
}

async function customersOf(
  { catalog, now }: PageTextParts,
  workspaceId: string,
  rows: readonly EventPageRow[],
): Promise<TextsByNumber<string>> {
  const idByNumber = new Map(
    rows.flatMap(([, , , , , , number]) =>
      number === undefined ? [] : [[number, formatResourceId('customer', number)] as const],
    ),
  );
  if (idByNumber.size === 0) return new Map();
  const ids = [...idByNumber.values()];
  const [customers, totals] = await Promise.all([
    knownCustomers(catalog, workspaceId, ids, now),
    catalog.customers.counters(workspaceId, ids),
  ]);
  const texts = new Map<string, string>();
  for (const [number, id] of idByNumber) {
    const record = customers.get(id);
    const customer = record === undefined ? deletedCustomer(id) : catalog.customers.toCustomer(record, totals.get(id));
    texts.set(number, JSON.stringify(customer));
  }
  return texts;
}

/**
 * A page as JSON text. Each link and customer on it is read and serialised once. Events of a link that was removed since the
 * page was read are left out.
 */
export async function pageText(
  parts: PageTextParts,
  workspaceId: string,
  kind: EventKind,
  rows: readonly EventPageRow[],
): Promise<string> {
  if (rows.length === 0) return '[]';
  const [links, customers] = await Promise.all([
    linksOf(parts.catalog, workspaceId, rows),
    customersOf(parts, workspaceId, rows),
  ]);
  const items = rows.flatMap((row) => {
    const link = links.get(row[2]);
    return link === undefined ? [] : eventText(kind, row, link, customers.get(row[6] ?? '') ?? '');
  });
  return `[${items.join(',')}]`;
}
