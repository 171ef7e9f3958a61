import type {
  Catalog,
  CustomerRecord,
  CustomerTotals,
  ErasedPeople,
  LinkCounters,
  LinkRecord,
  TagRecord,
} from '@waymark/catalog';
import { deletedCustomer, type EventKind, formatResourceId } from '@waymark/contract';
import { anonymisedPayload, ERASED_EVENT_NAME } from '@waymark/event-format';
import { forEachYielding, mapYielding } from '@waymark/http-kit';
import { type EventPageRow, eventText, type LinkTexts, linkTexts } from './event-text.js';
import type { Caller } from './find-references.js';
import { type CounterReads, countersOf, shownOf } from './fresh-counters.js';
import { memoize } from './memoize.js';
import type { ValuesOf } from './prefetch.js';

/** Bound of each cache, in characters: about ten of the largest pages. */
const CHARS_MAX = 10_000_000;

/** Serialises links and customers to JSON, with a cache for those that have not changed. */
export function createPageTexts({ links, customers }: Pick<Catalog, 'links' | 'customers'>) {
  return {
    textsOfLink: memoize(
      (record: LinkRecord, counters: LinkCounters | undefined, ...tags: readonly TagRecord[]) =>
        linkTexts(links.toLink(record, { hidesPasswords: false }, counters, tags)),
      { sizeMax: CHARS_MAX, sizeOf: ({ link, deprecated }) => link.length + deprecated.length },
    ),
    textOfCustomer: memoize(
      (record: CustomerRecord, totals: CustomerTotals | undefined) =>
        JSON.stringify(customers.toCustomer(record, totals)),
      { sizeMax: CHARS_MAX, sizeOf: (text) => text.length },
    ),
  };
}

export interface PageTextDeps extends ReturnType<typeof createPageTexts> {
  readonly catalog: Catalog;
  readonly now: () => number;
  readonly linkCounters: ValuesOf<LinkCounters>;
  readonly customerTotals: ValuesOf<CustomerTotals>;
}

/** Texts by the number that rows have for the link or customer; its public id is derived from the number. */
type TextsByNumber<Texts> = ReadonlyMap<string, Texts>;

/** Formats each distinct id once: a page has few of them, many times, and formatting is slow. */
function publicIds(kind: 'link' | 'customer', numbers: ReadonlySet<string>): ReadonlyMap<string, string> {
  return new Map([...numbers].map((number) => [number, formatResourceId(kind, number)]));
}

/** The links that the caller may see, by id, with the state of each link's partner applied to it; and a look-up of their tags. */
async function linksById(
  { links, hiddenFolders }: Pick<Catalog, 'links' | 'hiddenFolders'>,
  { workspaceId, visibility }: Caller,
  ids: readonly string[],
) {
  const found = [...(await links.getMany(workspaceId, ids)).values()];
  const [visible, withPartnerState, tagsOf] = await Promise.all([
    // A link may have been moved into a hidden folder since the rows were read.
    hiddenFolders.visible(workspaceId, visibility, found),
    links.inPartnerState(workspaceId, found),
    links.tagsOf(workspaceId, found),
  ]);
  const visibleIds = new Set(visible.map(({ id }) => id));
  const shown = withPartnerState.filter(({ id }) => visibleIds.has(id));
  return { links: new Map(shown.map((link) => [link.id, link])), tagsOf };
}

async function linksOf(
  { catalog, linkCounters, textsOfLink, now }: PageTextDeps,
  caller: Caller,
  kind: EventKind,
  rows: readonly EventPageRow[],
  page: readonly EventPageRow[],
): Promise<TextsByNumber<LinkTexts>> {
  const { workspaceId, visibility } = caller;
  const idByNumber = publicIds('link', new Set(rows.map(([, , number]) => number)));
  const ids = [...idByNumber.values()];
  const reads: CounterReads<LinkCounters> = {
    valuesOf: linkCounters,
    read: (some) => catalog.links.counters(workspaceId, some),
    counts: (totals, { events, newest }) =>
      totals !== undefined && totals[kind] >= events && (kind !== 'clicks' || (totals.lastClicked ?? '') >= newest),
    now,
  };
  const events: [id: string, timestamp: string][] = [];
  for (const [, timestamp, number] of page) {
    const id = idByNumber.get(number);
    if (id !== undefined) events.push([id, timestamp]);
  }
  const shown = shownOf(events);
  const [{ links, tagsOf }, counters] = await Promise.all([linksById(catalog, caller, ids), countersOf(reads, shown)]);
  const texts = new Map<string, LinkTexts>();
  await forEachYielding(idByNumber, ([number, id]) => {
    const link = links.get(id);
    if (link === undefined) return;
    const [counted, tags] = [counters.get(id), tagsOf(link)];
    // Cached texts contain the passwords of links, so a link whose password is masked is serialised each time.
    const isMasked = visibility.hidesPasswords && link.encryptedPassword !== null;
    const masked = isMasked ? linkTexts(catalog.links.toLink(link, visibility, counted, tags)) : undefined;
    texts.set(number, masked ?? textsOfLink(link, counted, ...tags));
  });
  return texts;
}

async function customersOf(
  deps: PageTextDeps,
  workspaceId: string,
  kind: EventKind,
  rows: readonly EventPageRow[],
  page: readonly EventPageRow[],
): Promise<TextsByNumber<string>> {
  const { catalog, now, customerTotals, textOfCustomer } = deps;
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
    page.flatMap(([, timestamp, , , , , number = '']) => {
      const id = idByNumber.get(number);
      return id === undefined ? [] : [[id, timestamp] as const];
    }),
  );
  const [customers, totals] = await Promise.all([
    catalog.customers.getMany(workspaceId, ids),
    countersOf(reads, shown),
  ]);
  const texts = new Map<string, string>();
  await forEachYielding(idByNumber, ([number, id]) => {
    const record = customers.get(id);
    texts.set(
      number,
      record === undefined ? JSON.stringify(deletedCustomer(id)) : textOfCustomer(record, totals.get(id)),
    );
  });
  return texts;
}

/** The texts of the links and customers of rows, by their number in the rows. A link that was removed or hidden has none. */
export interface RowTexts {
  readonly links: TextsByNumber<LinkTexts>;
  readonly customers: TextsByNumber<string>;
  /** People whose erasure was accepted; undefined when there are none. */
  readonly erased: ErasedPeople | undefined;
}

/**
 * Reads each link and customer of the rows once, and serialises it at most once.
 *
 * @param page all rows that are shown together, whose events the counters include
 */
export async function textsOfRows(
  deps: PageTextDeps,
  caller: Caller,
  kind: EventKind,
  rows: readonly EventPageRow[],
  page: readonly EventPageRow[] = rows,
): Promise<RowTexts> {
  const [links, customers, erased] = await Promise.all([
    linksOf(deps, caller, kind, rows, page),
    customersOf(deps, caller.workspaceId, kind, rows, page),
    deps.catalog.erasures.people.current(),
  ]);
  return { links, customers, erased };
}

/** The row as it is shown: if an erasure of its person was accepted, without the texts that the erasure will remove from the tables. */
function shownRow(workspaceId: string, row: EventPageRow, erased: ErasedPeople | undefined): EventPageRow {
  if (erased === undefined) return row;
  const [id, timestamp, link, payload, , eventName, customer] = row;
  const customerId = customer === undefined ? undefined : formatResourceId('customer', customer);
  const mode =
    customerId === undefined ? erased.modeOfClickId(workspaceId, id) : erased.modeOfId(workspaceId, customerId);
  if (mode === undefined) return row;
  const head = [id, timestamp, link, anonymisedPayload(payload), ''] as const;
  if (customer === undefined || customerId === undefined) return head;
  // The erasure keeps event names that other people's events have too. Until it is complete, no name is shown.
  const name = eventName !== undefined && erased.isComplete(workspaceId, customerId) ? eventName : ERASED_EVENT_NAME;
  return [...head, name, customer];
}

/** The item of a row as JSON text; undefined for an event whose link was removed or hidden since the row was read. */
export function itemText(
  { workspaceId }: Pick<Caller, 'workspaceId'>,
  kind: EventKind,
  row: EventPageRow,
  { links, customers, erased }: RowTexts,
): string | undefined {
  const link = links.get(row[2]);
  if (link === undefined) return undefined;
  return eventText(kind, shownRow(workspaceId, row, erased), link, customers.get(row[6] ?? '') ?? '');
}

/** The items of rows, in their order: {@link itemText} of each. */
export async function itemTexts(
  deps: PageTextDeps,
  caller: Caller,
  kind: EventKind,
  rows: readonly EventPageRow[],
): Promise<(string | undefined)[]> {
  if (rows.length === 0) return [];
  const texts = await textsOfRows(deps, caller, kind, rows);
  return mapYielding(rows, (row) => itemText(caller, kind, row, texts));
}
