import type { Lost } from '../model/source-link.js';

/** How many links had which end. */
export interface ImportCounts {
  /** Records of the source that were read. */
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  /** Links that exist as they would have been made, and with `skip` those that differ. */
  readonly skipped: number;
  readonly rejected: number;
}

export const NO_COUNTS: ImportCounts = { rows: 0, created: 0, updated: 0, skipped: 0, rejected: 0 };

/** A link, or a whole record, that could not be made. */
export interface Rejection {
  readonly row: number;
  readonly reason: string;
  readonly record: unknown;
}

/** Values of a link that was made, or exists, which have no place here. */
export interface Loss extends Lost {
  readonly row: number;
  /** Address of the link here. */
  readonly link: string;
}

/** How far an earlier run of the same import has come. */
export interface ImportPosition {
  /** The last row whose links have their ends. */
  readonly row: number;
  readonly counts: ImportCounts;
  /** When it was there, ms: identical links that are younger were made by that run, in the batch that was interrupted. */
  readonly atMs: number;
}

/** Where an import reports to; each call is awaited, so that a report needs no memory. */
export interface ImportReport {
  rejected(rejection: Rejection): Promise<void>;
  lost(loss: Loss): Promise<void>;
  /** Called when all links of the rows up to `row` have their ends. @throws to stop the import there */
  progress(counts: ImportCounts, row: number): void | Promise<void>;
}
