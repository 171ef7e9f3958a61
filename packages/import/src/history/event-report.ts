import type { Rejection } from '../run/import-report.js';

/** Numbers of the records of a history, by outcome. */
export interface EventCounts {
  /** Records that were read. */
  readonly read: number;
  /** Events that were stored, and customers that were created. */
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  readonly customers: number;
  /** Events and customers that were stored before. */
  readonly repeated: number;
  /** Events that are older than the installation or the workspace keeps events. */
  readonly tooOld: number;
  /** Visits of bots, which are not counted as clicks. */
  readonly bots: number;
  readonly rejected: number;
}

export const NO_EVENTS: EventCounts = {
  read: 0,
  clicks: 0,
  leads: 0,
  sales: 0,
  customers: 0,
  repeated: 0,
  tooOld: 0,
  bots: 0,
  rejected: 0,
};

/** Receives the results of an import of events. Calls that return a promise are awaited, so that an implementation need not buffer. */
export interface EventReport {
  /**
   * Called before all others if the import continues an earlier run, whose rejected records are not rejected again.
   *
   * @param mark what `save` of that run has returned; undefined also for a run of an earlier version
   */
  continued(earlier: EventCounts, mark: string | undefined): Promise<void>;
  rejected(rejection: Rejection): Promise<void>;
  /**
   * Called before a batch is stored, behind which a later run would continue: the records rejected so far must be safe from now on.
   *
   * @returns what identifies the report, if there is one
   */
  save(): Promise<string | undefined>;
  progress(counts: EventCounts): void;
}
