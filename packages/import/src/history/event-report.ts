import type { Rejection } from '../run/import-report.js';

/** What became of the records of a history. */
export interface EventCounts {
  /** Records that were read. */
  readonly read: number;
  /** Events that were stored, and customers that were created. */
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  readonly customers: number;
  /** Events and customers that are here already. */
  readonly repeated: number;
  /** Events that are older than the installation keeps them. */
  readonly tooOld: number;
  /** Visits of bots, which are no clicks here. */
  readonly bots: number;
  readonly rejected: number;
}

export const NO_EVENTS: EventCounts = {
  ...{ read: 0, clicks: 0, leads: 0, sales: 0, customers: 0 },
  ...{ repeated: 0, tooOld: 0, bots: 0, rejected: 0 },
};

/** Where an import of events reports to; each call is awaited, so that a report needs no memory. */
export interface EventReport {
  rejected(rejection: Rejection): Promise<void>;
  progress(counts: EventCounts): void;
}
