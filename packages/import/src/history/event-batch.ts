import type { CustomerRecord, LinkRecord } from '@waymark/catalog';
import { chunksOf, formatResourceId, groupBy, parseResourceId } from '@waymark/contract';
import { CLICK_COLUMNS, type EventRow } from '@waymark/event-format';
import type { ClickAlias, PastClaim, PastEvents, PastRow } from '@waymark/event-queue';
import { RowError } from '../model/source-link.js';
import type { PastCustomers } from './past-customers.js';
import type { HistoryItem, PastAddress, PastClick, PastEvent } from './past-event.js';
import { checkConversion, type PastConversionEvent, type PastRows } from './past-rows.js';
import { type AttributedSale, claimsOf } from './sale-claims.js';
import type { StoredEvents } from './stored-events.js';

/** The rows and records to store for a batch of a history. */
export interface EventBatch {
  readonly rows: readonly PastRow[];
  readonly aliases: readonly ClickAlias[];
  /** Claims of the rows, which are taken before the rows are stored. */
  readonly claims: readonly PastClaim[];
  /** Links of the events that are stored. */
  readonly links: readonly LinkRecord[];
  /** Number of events and customers that were stored before. */
  readonly repeated: number;
  readonly newCustomers: number;
}

export interface BatchReaderOptions {
  readonly rows: PastRows;
  readonly links: {
    /** Looks up links together that `find` returns afterwards. */
    prepare(addresses: readonly PastAddress[]): Promise<void>;
    find(address: PastAddress): Promise<LinkRecord>;
  };
  readonly customers: PastCustomers;
  readonly stored: StoredEvents;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
}

/** Runs work on a record. Returns undefined when the work throws an error of the record, which is then reported as rejected. */
export type OrRejected = <T>(item: HistoryItem, work: () => Promise<T>) => Promise<T | undefined>;

type EventOf<K extends PastEvent['kind']> = Extract<PastEvent, { kind: K }>;
interface Item<K extends PastEvent['kind']> {
  readonly item: HistoryItem;
  readonly event: EventOf<K>;
}

const CUSTOMERS_AT_ONCE = 50;
const LINK = CLICK_COLUMNS.indexOf('link_id');
const CLICK_ID = CLICK_COLUMNS.indexOf('click_id');
const CLICKED_AT = CLICK_COLUMNS.indexOf('timestamp');
const COUNTRY = CLICK_COLUMNS.indexOf('country');

function itemsOf<K extends PastEvent['kind']>(items: readonly HistoryItem[], kinds: readonly K[]): Item<K>[] {
  return items.flatMap((item) =>
    kinds.some((kind) => kind === item.event?.kind) ? [{ item, event: item.event as EventOf<K> }] : [],
  );
}

/** Maps the items of a history to rows, and creates their customers. */
export function createBatchReader({ rows, links, customers, stored, workspaceNumber }: BatchReaderOptions) {
  const workspaceId = formatResourceId('workspace', workspaceNumber);

  /** Leaves out events that are stored already, and repeats of an id in the batch. */
  async function absentOf<
    T extends { readonly kind: 'click' | 'lead' | 'sale'; readonly id: string; readonly timeMs: number },
  >(past: PastEvents, events: readonly T[]): Promise<T[]> {
    const distinct = new Map(events.toReversed().map((event) => [event.id, event]));
    const keys = [...distinct.values()].map(({ kind, id, timeMs }) => ({ kind, row: [workspaceNumber, timeMs, id] }));
    const absent = new Set((await past.absent(keys)).map(({ row }) => row[CLICK_ID]));
    return events.filter((event) => absent.has(event.id) && distinct.get(event.id) === event);
  }

  async function readClicks(
    items: readonly Item<'click'>[],
    past: PastEvents,
    orRejected: OrRejected,
  ): Promise<EventBatch> {
    const found: { kind: 'click'; id: string; timeMs: number; event: PastClick; link: LinkRecord }[] = [];
    await links.prepare(items.map(({ event }) => event.address));
    for (const { item, event } of items) {
      const link = await orRejected(item, () => links.find(event.address));
      if (link !== undefined)
        found.push({ kind: 'click', id: rows.clickIdOf(event), timeMs: event.timeMs, event, link });
    }
    const absent = await absentOf(past, found);
    return {
      rows: absent.map(({ event, link }) => ({ kind: 'click', row: rows.click(event, link) })),
      aliases: absent.flatMap(({ event }) => rows.aliasOf(event) ?? []),
      claims: [],
      links: absent.map(({ link }) => link),
      repeated: found.length - absent.length,
      newCustomers: 0,
    };
  }

  /** Returns a function for the click row of a conversion: the stored click or, without one, a row made of what the conversion has. */
  async function clicksOf(events: readonly { readonly event: PastConversionEvent; readonly link: LinkRecord }[]) {
    const ids = await stored.aliases(events.flatMap(({ event }) => event.click.alias ?? []));
    const clickRows = await stored.clicks([...ids.values()]);
    return ({ event, link }: (typeof events)[number]): EventRow =>
      clickRows.get(ids.get(event.click.alias ?? '') ?? '') ?? rows.click(event.click, link);
  }

  interface Conversion {
    readonly kind: 'lead' | 'sale';
    readonly id: string;
    readonly timeMs: number;
    readonly item: HistoryItem;
    readonly event: PastConversionEvent;
    readonly link: LinkRecord;
  }

  interface Attributed extends Conversion {
    readonly click: EventRow;
    readonly customer: CustomerRecord;
    /** Undefined for a lead. */
    readonly sale: AttributedSale | undefined;
  }

  /** Leaves out sales whose invoice belongs to another sale, as `/track/sale` does. */
  async function withoutKnownInvoices(conversions: readonly Conversion[]): Promise<Conversion[]> {
    const invoiceOf = ({ event }: Conversion) => (event.kind === 'sale' ? event.invoiceId : null);
    const owners = new Map(await stored.invoices(conversions.flatMap((one) => invoiceOf(one) ?? [])));
    return conversions.filter((one) => {
      const invoice = invoiceOf(one);
      if (invoice === null) return true;
      const owner = owners.get(invoice) ?? one.id;
      owners.set(invoice, owner);
      return owner === one.id;
    });
  }

  /**
   * Finds or creates the customers of the conversions. The first conversion of a new customer is its first touch. When a customer is
   * refused, all its conversions are rejected.
   *
   * @returns the records by external id, and how many of them were created
   */
  async function customersOf(
    conversions: readonly Conversion[],
    clickOf: (one: Conversion) => EventRow,
    orRejected: OrRejected,
  ) {
    const byCustomer = groupBy(conversions, ({ event }) => event.customer.externalId);
    const records = new Map<string, CustomerRecord>();
    let created = 0;
    const ensure = async ([first, ...others]: readonly [Conversion, ...Conversion[]]) => {
      const { customer } = first.event;
      const click = clickOf(first);
      const touch = {
        link: first.link,
        clickId: String(click[CLICK_ID]),
        clickedAtMs: Number(click[CLICKED_AT]),
        country: String(click[COUNTRY]),
      };
      const ensuring = customers.ensure(customer, touch);
      const ensured = await orRejected(first.item, () => ensuring);
      if (ensured === undefined) {
        for (const { item } of others) await orRejected(item, () => ensuring);
        return;
      }
      records.set(customer.externalId, ensured.record);
      if (ensured.isNew) created++;
    };
    for (const some of chunksOf([...byCustomer.values()], CUSTOMERS_AT_ONCE)) await Promise.all(some.map(ensure));
    return { records, created };
  }

  /** The sales that are the first of their customer on their link. */
  async function firstSales(sales: readonly AttributedSale[]): Promise<ReadonlySet<AttributedSale>> {
    const numberOf = ({ customer }: AttributedSale) => parseResourceId('customer', customer.id) ?? '0';
    const buyers = new Set(await stored.buyers(sales.map(numberOf)));
    const firsts = sales.filter((sale) => {
      const buyer = `${numberOf(sale)}/${parseResourceId('link', sale.linkId)}`;
      const isFirst = !buyers.has(buyer);
      buyers.add(buyer);
      return isFirst;
    });
    return new Set(firsts);
  }

  async function readConversions(
    items: readonly Item<'lead' | 'sale'>[],
    past: PastEvents,
    orRejected: OrRejected,
  ): Promise<EventBatch> {
    const found: Conversion[] = [];
    await links.prepare(items.map(({ event }) => event.click.address));
    for (const { item, event } of items) {
      const link = await orRejected(item, async () => {
        checkConversion(event);
        return links.find(event.click.address);
      });
      const { kind, timeMs } = event;
      if (link !== undefined) found.push({ kind, id: rows.eventIdOf(event), timeMs, item, event, link });
    }
    const absent = await withoutKnownInvoices(await absentOf(past, found));
    const clickOf = await clicksOf(absent);
    const { records, created } = await customersOf(absent, clickOf, orRejected);
    const attributed = absent.flatMap((one): Attributed[] => {
      const customer = records.get(one.event.customer.externalId);
      if (customer === undefined) return [];
      const click = clickOf(one);
      const linkId = formatResourceId('link', String(click[LINK]));
      const sale = one.event.kind === 'sale' ? { event: one.event, eventId: one.id, customer, linkId } : undefined;
      return [{ ...one, click, customer, sale }];
    });
    const sales = attributed.flatMap(({ sale }) => sale ?? []);
    const firsts = await firstSales(sales);
    return {
      rows: attributed.map(({ event, click, customer, sale }) =>
        rows.conversion(event, click, customer.id, sale !== undefined && firsts.has(sale)),
      ),
      claims: sales.flatMap((sale) => claimsOf(workspaceId, sale, firsts.has(sale))),
      aliases: [],
      links: attributed.map(({ link }) => link),
      repeated: found.length - absent.length,
      newCustomers: created,
    };
  }

  /** The link that brought a customer; undefined when the workspace has no such link. */
  async function linkOf({ address }: EventOf<'customer'>): Promise<LinkRecord | undefined> {
    try {
      return address === null ? undefined : await links.find(address);
    } catch (err) {
      if (err instanceof RowError) return undefined;
      throw err;
    }
  }

  async function readCustomers(items: readonly Item<'customer'>[], orRejected: OrRejected): Promise<EventBatch> {
    let repeated = 0;
    let newCustomers = 0;
    const ensure = async ({ item, event }: Item<'customer'>) => {
      const link = await linkOf(event);
      const made = await orRejected(item, () => customers.ensure(event, link && { link }));
      if (made?.isNew) newCustomers++;
      else if (made !== undefined) repeated++;
    };
    for (const some of chunksOf(items, CUSTOMERS_AT_ONCE)) await Promise.all(some.map(ensure));
    return { rows: [], aliases: [], claims: [], links: [], repeated, newCustomers };
  }

  return {
    /** @param items all clicks, all customers, or leads and sales; @param past finds which events are stored already */
    async read(items: readonly HistoryItem[], past: PastEvents, orRejected: OrRejected): Promise<EventBatch> {
      const kind = items[0]?.event?.kind;
      if (kind === 'click') return readClicks(itemsOf(items, ['click']), past, orRejected);
      if (kind === 'customer') return readCustomers(itemsOf(items, ['customer']), orRejected);
      return readConversions(itemsOf(items, ['lead', 'sale']), past, orRejected);
    },
  };
}
