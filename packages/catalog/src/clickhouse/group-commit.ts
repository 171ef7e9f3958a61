import { isInfrastructureError, UnknownOutcomeError } from '@waymark/clickhouse';
import type { EventRow } from '@waymark/event-format';
import { unavailable } from '../model/errors.js';

/** Options of {@link createGroupCommit}. */
export interface GroupCommitOptions {
  readonly insert: (rows: readonly EventRow[]) => Promise<void>;
  readonly now: () => number;
  readonly concurrentInsertsMax: number;
}

/** Batches the rows of many callers into one insert: single-row inserts would create one ClickHouse part each. */
export interface GroupCommit {
  /**
   * Inserts rows. Resolves when they are in the table.
   *
   * @param notAfterMs epoch milliseconds; rows that are not sent by then are refused, because the caller's locks could expire during the
   *   insert
   * @throws ApiError 500 with `Retry-After` for rows that were not sent in time; UnknownOutcomeError when the rows may or may not be in the
   *   table; the error of ClickHouse for rows that it refuses
   */
  add(rows: readonly EventRow[], notAfterMs: number): Promise<void>;
  /** Sends the waiting rows and resolves when every insert has ended. */
  close(): Promise<void>;
}

interface Entry {
  readonly rows: readonly EventRow[];
  readonly notAfterMs: number;
  readonly resolve: () => void;
  readonly reject: (err: unknown) => void;
}

/** How long a single row waits for others. */
const WAIT_MS = 5;
/** So many rows are sent without waiting for more. */
const FULL_ROWS = 100;
/** Maximum number of rows of an insert; reached when rows arrive faster than inserts end. */
const ROWS_MAX = 1000;

/** Creates a {@link GroupCommit}. */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  let waiting: Entry[] = [];
  let waitingRows = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Whether rows wait only because too many inserts are running. */
  let isDue = false;
  const inserts = new Set<Promise<void>>();

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    isDue = true;
    while (waiting.length > 0 && inserts.size < options.concurrentInsertsMax) {
      const insert = commit(takeBatch());
      inserts.add(insert);
      void insert.finally(() => {
        inserts.delete(insert);
        if (isDue) flush();
      });
    }
    if (waiting.length === 0) isDue = false;
  }

  function takeBatch(): Entry[] {
    let rows = 0;
    let count = 0;
    for (const entry of waiting) {
      if (count > 0 && rows + entry.rows.length > ROWS_MAX) break;
      rows += entry.rows.length;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    waitingRows -= rows;
    return batch;
  }

  async function commit(batch: readonly Entry[]): Promise<void> {
    const now = options.now();
    const timely = batch.filter((entry) => entry.notAfterMs >= now);
    for (const entry of batch) {
      if (entry.notAfterMs < now) entry.reject(unavailable('an insert waited longer than its lock allows'));
    }
    if (timely.length === 0) return;
    try {
      await options.insert(timely.flatMap((entry) => entry.rows));
      for (const entry of timely) entry.resolve();
    } catch (err) {
      // One caller's bad row must not fail the others: each is retried in an insert of its own.
      const isUnknown = isInfrastructureError(err);
      for (const entry of timely) {
        if (isUnknown) entry.reject(new UnknownOutcomeError(err));
        else if (timely.length === 1) entry.reject(err);
        else await commit([entry]);
      }
    }
  }

  return {
    add(rows, notAfterMs) {
      if (rows.length === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        waiting.push({ rows, notAfterMs, resolve, reject });
        waitingRows += rows.length;
        // Several rows are a batch already, so they do not wait for more. While too many inserts run, all rows wait together anyway.
        if (rows.length > 1 || waitingRows >= FULL_ROWS) flush();
        else timer ??= setTimeout(flush, WAIT_MS);
      });
    },
    async close() {
      flush();
      while (inserts.size > 0) {
        await Promise.all(inserts);
        flush();
      }
    },
  };
}
