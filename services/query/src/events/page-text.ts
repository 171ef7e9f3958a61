import type { Catalog, CustomerTotals, LinkCounters } from '@waymark/catalog';
import { deletedCustomer, type EventKind, formatResourceId } from '@waymark/contract';
import { type EventPageRow, eventText, type LinkTexts, linkTexts } from './event-text.js';
import { type CounterReads, countersOf, shownOf } from './fresh-counters.js';
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
  { catalog, linkCounters, now }: PageTextParts,
  workspaceId: string,
  kind: EventKind,
  rows: readonly EventPageRow[],
): Promise<TextsByNumber<LinkTexts>> {
  const idByNumber = publicIds('link', new Set(rows.map(([, , number]) => number)));
  const ids = [...idByNumber.values()];
  const reads: CounterReads<LinkCounters> = {
    valuesOf: linkCounters,
    read: (some) => catalog.links.counters(workspaceId, some),
    counts: (totals, { events, newestMs }) =>
      totals !== undefined &&
      totals[kind] >= events &&
      (kind !== 'clicks' || Date.parse(totals.lastClicked ?? '') >= newestMs),
    now,
  };
  const shown = shownOf(rows.map(([, timestamp, number]) => [idByNumber.get(number) ?? '', timestamp]));
  const [links, counters] = await Promise.all([catalog.links.getMany(workspaceId, ids), countersOf(reads, shown)]);
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
  kind: EventKind,
  rows: readonly EventPageRow[],
): Promise<TextsByNumber<string>> {
  const idByNumber = publicIds('customer', new Set(rows.flatMap(([, , , , , , number]) => number ?? [])));
  if (idByNumber.size === 0) return new Map();
  const ids = [...idByNumber.values()];
  const reads: CounterReads<CustomerTotals> = {
    valuesOf: customerTotals,
    read: (some) => catalog.customers.counters(workspaceId, some),
    counts: (totals, { events }) => kind !== 'sales' || (totals?.sales ?? 0) >= events,
    now,
  };
  const shown = shownOf(
    rows.flatMap(([, timestamp, , , , , number = '']) => {
      const id = idByNumber.get(number);
      return id === undefined ? [] : [[id, timestamp] as const];
    }),
  );
  const [customers, totals] = await Promise.all([
    knownCustomers(catalog, workspaceId, ids, now),
    countersOf(reads, shown),
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
    linksOf(parts, workspaceId, kind, rows),
    customersOf(parts, workspaceId, kind, rows),
  ]);
  const items = rows.flatMap((row) => {
    const link = links.get(row[2]);
    return link === undefined ? [] : eventText(kind, row, link, customers.get(row[6] ?? '') ?? '');
  });
  return `[${items.join(',')}]`;
}
