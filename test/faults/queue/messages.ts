import type { EventRow } from '@waymark/event-format';

/** The instructions for a producer process. */
export interface ProducerTask {
  readonly redisUrl: string;
  readonly waitReplicas: number;
  readonly spoolDirectory: string;
  /** Decimal text, as in ClickHouse. */
  readonly workspaceId: string;
  /** Prefix of the invoice ids. The successor of a killed process has the same. */
  readonly prefix: string;
  /** Number of the first invoice; those before were acknowledged. */
  readonly firstInvoice: number;
  /** Concurrent events, by kind. */
  readonly clicks: number;
  readonly sales: number;
  /** Pause between two events of the concurrent ones, in milliseconds; 0 is full speed. */
  readonly pauseMs: number;
  /** Characters added to every n-th click's row. */
  readonly padding?: { readonly every: number; readonly characters: number };
}

/** An event whose caller was answered with success. */
export type Acknowledged =
  | { readonly kind: 'click'; readonly id: string; readonly isNew: boolean }
  | { readonly kind: 'sale'; readonly id: string; readonly invoice: number; readonly customerId: string };

/** A report of a producer process, sent every few milliseconds. */
export interface ProducerReport {
  readonly acknowledged: readonly Acknowledged[];
  /** Errors of clicks: there must be none. */
  readonly failedClicks: readonly string[];
  /** How often sales were retried, by status. */
  readonly refusals: Readonly<Record<string, number>>;
}

/** The sale of a process that is suspended before it sends its transaction. */
export interface SuspendedTask {
  readonly redisUrl: string;
  readonly spoolDirectory: string;
  readonly workspaceId: string;
  readonly invoiceId: string;
  readonly row: EventRow;
  /** The final value of the invoice's claim. */
  readonly answer: string;
}

/** What the process reports: that it is about to stop with the sale in memory, and how the sale ended after that. */
export interface SuspendedReport {
  readonly state: 'waiting' | 'recorded' | 'refused';
}
