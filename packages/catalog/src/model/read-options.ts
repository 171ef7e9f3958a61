/** Options of a read. */
export interface ReadOptions {
  /** Time limit, after which the read returns an expired copy, or fails when there is none; five seconds by default. */
  readonly limitMs?: number;
  /**
   * Whether, while Redis cannot be read, copies of the last second are served although they may be outdated, and without an answer of
   * ClickHouse what Redis has although its replicas confirm nothing. Set for redirects.
   */
  readonly mayLag?: boolean;
}

/** Time limit of a read for an API call. */
export const API_READ_MS_MAX = 5_000;
/** The options of reads for API calls. */
export const API_READ: ReadOptions = { limitMs: API_READ_MS_MAX };
