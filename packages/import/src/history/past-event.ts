import type { PaymentProcessor, Trigger } from '@waymark/contract';
import type { RawPlace } from '@waymark/visit';

/** The link of an event, as the source names it. */
export interface PastAddress {
  /** Null for the source's only, or default, domain. */
  readonly domain: string | null;
  readonly key: string;
}

/** A click, with the data that the source has about it. */
export interface PastClick {
  readonly address: PastAddress;
  /** Epoch milliseconds. */
  readonly timeMs: number;
  /** Unique among the clicks of the source, and the same in each import. */
  readonly identity: string;
  /** The id of the click at the source, which browsers may still send (docs/glossary.md); null for sources without such ids. */
  readonly alias: string | null;
  /** The destination that the visitor was sent to; null for that of the link. */
  readonly url: string | null;
  readonly place: RawPlace;
  /** Device, browser and system by the names of the source; null = derived from the user agent. */
  readonly device: string | null;
  readonly browser: string | null;
  readonly os: string | null;
  readonly userAgent: string;
  /** A URL or a host; null for none. */
  readonly referrer: string | null;
  readonly trigger: Trigger;
}

/** A customer of the source. */
export interface PastCustomer {
  readonly externalId: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly avatar: string | null;
  readonly stripeCustomerId: string | null;
  readonly country: string | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string | null;
  /** The link that brought the customer, if the source names it. */
  readonly address: PastAddress | null;
}

interface PastConversion {
  /** Epoch milliseconds. */
  readonly timeMs: number;
  /** Unique among the events of its kind at the source, and the same in each import. */
  readonly identity: string;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly click: PastClick;
  readonly customer: PastCustomer;
}

/** A sale of the source. */
export interface PastSale extends PastConversion {
  /** In the smallest unit of the currency, such as cents. */
  readonly amount: number;
  /** Code in lower case, such as `usd`. It is checked when the row is created. */
  readonly currency: string;
  readonly invoiceId: string | null;
  readonly paymentProcessor: PaymentProcessor;
}

/** An event of the history of a source, or a customer. */
export type PastEvent =
  | ({ readonly kind: 'click' } & PastClick)
  | ({ readonly kind: 'lead' } & PastConversion)
  | ({ readonly kind: 'sale' } & PastSale)
  | ({ readonly kind: 'customer' } & PastCustomer);

/** One record of a history: an event, a bot, or an error. */
export interface HistoryItem {
  readonly row: number;
  readonly record: unknown;
  readonly event?: PastEvent;
  /** Why the record cannot become an event. */
  readonly error?: string;
  /** Whether it is a visit of a bot, which is not imported. */
  readonly isBot?: boolean;
}

/** Some records, and the position after them. */
export interface HistoryPage {
  readonly items: readonly HistoryItem[];
  /** The position after the page, an opaque text; a continued import passes it to {@link HistorySource.read}. */
  readonly next: string;
}

/** The history of a source, always in the same order. */
export interface HistorySource {
  /** The same for each import of one account or file, and different for others: an import with the same identity continues. */
  readonly identity: string;
  /** IANA zone of times without a zone, on which the ids of events depend; undefined where all times have one. */
  readonly timezone?: string | undefined;
  /** @param from `next` of the last page that was stored; undefined for the start; @throws ImportError */
  read(from: string | undefined): AsyncGenerator<HistoryPage>;
}
