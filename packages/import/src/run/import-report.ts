import type { Lost } from '../model/source-link.js';

/** Numbers of links by outcome. */
export interface ImportCounts {
  /** Records of the source that were read. */
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  /** Links that exist with the same fields, and with `skip` also those that exist with other fields. */
  readonly skipped: number;
  readonly rejected: number;
}

export const NO_COUNTS: ImportCounts = { rows: 0, created: 0, updated: 0, skipped: 0, rejected: 0 };

/** A link, or a whole record, that could not be made. */
export interface Rejection {
  readonly row: number;
  readonly reason: string;
  /** The record as it was read, or the text that could not be read. */
  readonly record: unknown;
  /** Columns of the table that the record is a row of; undefined when they are those of `record`, or unknown. */
  readonly columns?: readonly string[] | undefined;
  /** Values of a row of a table behind its last column. */
  readonly rest?: readonly string[] | undefined;
}

/** Values of a created or existing link that Waymark has no field for. */
export interface Loss extends Lost {
  readonly row: number;
  /** Address of the link in Waymark. */
  readonly link: string;
}

/** The progress of an earlier run of the same import. */
export interface ImportPosition {
  /** The last row whose links are all counted. */
  readonly row: number;
  readonly counts: ImportCounts;
  /** Time of that progress, epoch milliseconds. Identical links that are younger were created by the batch that was interrupted. */
  readonly atMs: number;
}

/** Receives the results of an import. Each call is awaited, so that an implementation need not buffer. */
export interface ImportReport {
  rejected(rejection: Rejection): Promise<void>;
  lost(loss: Loss): Promise<void>;
  /** Called when all links of the rows up to `row` are counted. @throws to stop the import there */
  progress(counts: ImportCounts, row: number): void | Promise<void>;
}
