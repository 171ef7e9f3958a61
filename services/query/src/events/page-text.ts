import type { Catalog, CustomerTotals, LinkCounters } from '@waymark/catalog';
import { deletedCustomer, type EventKind, formatResourceId } from '@waymark/contract';
import { type EventPageRow, eventText, type LinkTexts, linkTexts } from './event-text.js';
import { knownCustomers } from './known-customers.js';
import type { ValuesOf } from './read-ahead.js';

export interface PageTextParts {
  readonly catalog: Catalog;
  readonly now: () => number;
  readonly linkCounters: ValuesOf<LinkCounters>;
  readonly customerTotals: ValuesOf<CustomerTotals>;
}

/** By the number that the rows have. */
type TextsByNumber<Texts> = ReadonlyMap<string, Texts>;

/** A page has few of them many times, and each takes a while to print. */
function publicIds(kind: 'link' | 'customer', numbers: ReadonlySet<string>): ReadonlyMap<string, string> {
  return new Map([...numbers].map((number) => [number, formatResourceId(kind, number)]));
}

async function linksOf(
  { catalog, linkCounters }: PageTextParts,
  workspaceId: string,
  rows: readonly EventPageRow[],
): Promise<TextsByNumber<LinkTexts>> {
  const idByNumber = publicIds('link', new Set(rows.map(([, , number]) => number)));
  const ids = [...idByNumber.values()];
  const [links, counters] = await Promise.all([catalog.links.getMany(workspaceId, ids), linkCounters(ids)]);
  const objects = await catalog.links.objectsWith(workspaceId, [...links.values()], counters);
  const textsById = new Map(objects.map((link) => [link.id, linkTexts(link)]));
  const texts = new Map<string, LinkTexts>();
  for (const [number, id] of idByNumber) {
    const link = textsById.get(id);
    if (link !== undefined) texts.set(number, link);
  }
  return texts;
}

async function customersOf(
  { catalog, now, customerTotals }: PageTextParts,
  workspaceId: string,
  rows: readonly EventPageRow[],
): Promise<TextsByNumber<string>> {
  const idByNumber = publicIds('customer', new Set(rows.flatMap(([, , , , , , number]) => number ?? [])));
  if (idByNumber.size === 0) return new Map();
  const ids = [...idByNumber.values()];
  const [customers, totals] = await Promise.all([knownCustomers(catalog, workspaceId, ids, now), customerTotals(ids)]);
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
    linksOf(parts, workspaceId, rows),
    customersOf(parts, workspaceId, rows),
  ]);
  const items = rows.flatMap((row) => {
    const link = links.get(row[2]);
    return link === undefined ? [] : eventText(kind, row, link, customers.get(row[6] ?? '') ?? '');
  });
  return `[${items.join(',')}]`;
}
