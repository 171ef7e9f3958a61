import type { PaymentProcessor, Trigger } from '@waymark/contract';
import type { RawPlace } from '@waymark/visit';

/** Which link an event is of, as the source names it. */
export interface PastAddress {
  /** Null for the source's only, or default, domain. */
  readonly domain: string | null;
  readonly key: string;
}

/** What the source says about a click. */
export interface PastClick {
  readonly address: PastAddress;
  /** Epoch milliseconds. */
  readonly timeMs: number;
  /** What makes the click different from all others of the source. */
  readonly identity: string;
  /** The id that browsers may still send; null for sources without such ids. */
  readonly alias: string | null;
  /** Null for the link's own destination. */
  readonly url: string | null;
  readonly place: RawPlace;
  /** Names as they are stored; null to read them from the user agent. */
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
  readonly timeMs: number;
  readonly identity: string;
  readonly eventName: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly click: PastClick;
  readonly customer: PastCustomer;
}

export interface PastSale extends PastConversion {
  /** Cents, or the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
  readonly invoiceId: string | null;
  readonly paymentProcessor: PaymentProcessor;
}

/** What of a source's history becomes rows and records here. */
export type PastEvent =
  | ({ readonly kind: 'click' } & PastClick)
  | ({ readonly kind: 'lead' } & PastConversion)
  | ({ readonly kind: 'sale' } & PastSale)
  | ({ readonly kind: 'customer' } & PastCustomer);

/** One record of a history: an event, or why it is none. */
export interface HistoryItem {
  readonly row: number;
  readonly record: unknown;
  readonly event?: PastEvent;
  /** Why the record cannot become an event. */
  readonly error?: string;
  /** A visit of a bot, which is no click here. */
  readonly isBot?: boolean;
}

/** Some records, and where to go on after them. */
export interface HistoryPage {
  readonly items: readonly HistoryItem[];
  /** Any text; given to {@link HistorySource.read} by an import that is continued. */
  readonly next: string;
}

/** The history of a source, always in the same order. */
export interface HistorySource {
  /** Tells an import of it from that of another account or file. */
  readonly identity: string;
  /** @param from `next` of the last page that was stored; undefined for the start; @throws ImportError */
  read(from: string | undefined): AsyncGenerator<HistoryPage>;
}
