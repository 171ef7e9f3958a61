/** What a producer process is told to do. */
export interface ProducerTask {
  readonly redisUrl: string;
  readonly spoolDirectory: string;
  /** Decimal text, as in ClickHouse. */
  readonly workspaceId: string;
  /** Names of invoices begin with it; a process that follows a killed one has the same. */
  readonly prefix: string;
  /** Number of the first invoice; those before were acknowledged. */
  readonly firstInvoice: number;
  /** Events under way at once, by kind. */
  readonly clicks: number;
  readonly sales: number;
  /** Characters added to every n-th click's row. */
  readonly padding?: { readonly every: number; readonly characters: number };
}

/** An event whose caller was answered with success. */
export type Acknowledged =
  | { readonly kind: 'click'; readonly id: string; readonly recorded: boolean }
  | { readonly kind: 'sale'; readonly id: string; readonly invoice: number; readonly customerId: string };

/** What a producer process tells, a few milliseconds' worth at a time. */
export interface ProducerReport {
  readonly acknowledged: readonly Acknowledged[];
  /** Errors of clicks: there must be none. */
  readonly failedClicks: readonly string[];
  /** How often a sale had to be tried again, by status. */
  readonly refusals: Readonly<Record<string, number>>;
}
