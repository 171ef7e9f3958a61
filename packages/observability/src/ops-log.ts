import { randomUUID } from 'node:crypto';
import {
  type ClickHouseClient,
  insertRows,
  isInfrastructureError,
  OPS_TABLES,
  type OpsTable,
} from '@waymark/clickhouse';
import type { MetricsLogger } from './metrics/metrics-logger.js';

/** A value of a column. */
export type OpsValue = string | number | readonly number[];
/** A row of an operator table, in the order of its columns. */
export type OpsRow = readonly OpsValue[];

export interface OpsLogOptions {
  readonly clickhouse: ClickHouseClient;
  readonly logger: MetricsLogger;
  readonly intervalMs?: number;
  readonly rowsMax?: number;
}

/**
 * Writes rows to the operator tables in the background, every ten seconds. If a process is idle, so that there are only samples to write,
 * it writes every thirty: inserts would be most of the work of an idle installation. While ClickHouse is away, a bounded number of rows is
 * buffered, and the rest is dropped and counted, so that callers never wait.
 */
export interface OpsLog {
  /** Adds a row, or drops it if too many wait. */
  add(table: OpsTable, row: OpsRow): void;
  /** Rows dropped so far. */
  dropped(): number;
  /** Adds a listener that is called every ten seconds and before each flush, and may add rows. */
  onFlush(listener: () => void): void;
  /** Writes the buffered rows. Never rejects. */
  flush(): Promise<void>;
  /** Writes the buffered rows, with a limit of a second for each insert, and stops. */
  close(): Promise<void>;
}

/** Rows that are inserted together, with their deduplication token. */
interface Batch {
  readonly token: string;
  readonly rows: readonly OpsRow[];
}

const INTERVAL_MS = 10_000;
/** After this many intervals, samples are written even if no other rows wait. */
const SAMPLE_INTERVALS = 3;
/** Limit on the buffered rows of one table. A writer adds at most a row per workspace, kind of event and minute for each flush. */
const ROWS_MAX = 20_000;
const INSERT_MS = 5000;
const CLOSE_MS = 1000;

/** Starts the log, which writes until `close`. */
export function createOpsLog(options: OpsLogOptions): OpsLog {
  const { clickhouse, logger, rowsMax = ROWS_MAX } = options;
  const tables = Object.keys(OPS_TABLES) as OpsTable[];
  const waiting = new Map<OpsTable, OpsRow[]>(tables.map((table) => [table, []]));
  /** Batches whose insert was not acknowledged. They are sent again with the same token, and ClickHouse deduplicates them. */
  const unacknowledged = new Map<OpsTable, Batch>();
  const listeners: (() => void)[] = [];
  let dropped = 0;
  let flushing: Promise<void> | undefined;
  let isFailing = false;
  /** Intervals since rows were last written. */
  let unwritten = 0;

  function nextBatch(table: OpsTable): Batch | undefined {
    const retried = unacknowledged.get(table);
    if (retried !== undefined) return retried;
    const rows = waiting.get(table)?.splice(0) ?? [];
    if (rows.length === 0) return undefined;
    const batch = { token: randomUUID(), rows };
    unacknowledged.set(table, batch);
    return batch;
  }

  async function write(table: OpsTable, limitMs: number): Promise<void> {
    for (let batch = nextBatch(table); batch !== undefined; batch = nextBatch(table)) {
      try {
        await insertRows(clickhouse, {
          table,
          columns: OPS_TABLES[table],
          rows: batch.rows as never,
          deduplicationToken: batch.token,
          maxExecutionSeconds: Math.ceil(limitMs / 1000),
          signal: AbortSignal.timeout(limitMs),
        });
      } catch (err) {
        if (isInfrastructureError(err)) throw err;
        dropped += batch.rows.length;
        logger.warn(
          { err, table, rows: batch.rows.length },
          'ClickHouse refused rows of an operator table; they are dropped',
        );
      }
      unacknowledged.delete(table);
    }
  }

  /** Whether to write nothing in this interval: only samples wait, and rows were written less than three intervals ago. */
  function maySkip(): boolean {
    unwritten += 1;
    const isIdle = tables.every((table) => table === 'ops_samples' || waiting.get(table)?.length === 0);
    return isIdle && unacknowledged.size === 0 && unwritten < SAMPLE_INTERVALS;
  }

  async function writeAll(limitMs: number): Promise<void> {
    unwritten = 0;
    try {
      for (const table of tables) await write(table, limitMs);
      isFailing = false;
    } catch (err) {
      if (!isFailing) logger.warn({ err }, 'rows of operator tables are buffered: ClickHouse does not accept them');
      isFailing = true;
    }
  }

  const collect = () => {
    for (const listener of listeners) listener();
  };

  function start(limitMs: number): Promise<void> {
    flushing = writeAll(limitMs).finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  function flush(limitMs = INSERT_MS): Promise<void> {
    if (flushing !== undefined) return flushing;
    collect();
    return start(limitMs);
  }

  const timer = setInterval(() => {
    if (flushing !== undefined) return;
    collect();
    if (!maySkip()) void start(INSERT_MS);
  }, options.intervalMs ?? INTERVAL_MS);
  timer.unref();

  return {
    add(table, row) {
      const rows = waiting.get(table);
      if (rows === undefined || rows.length >= rowsMax) dropped += 1;
      else rows.push(row);
    },
    dropped: () => dropped,
    onFlush: (listener) => listeners.push(listener),
    flush: () => flush(),
    async close() {
      clearInterval(timer);
      await flushing;
      await flush(CLOSE_MS);
    },
  };
}
