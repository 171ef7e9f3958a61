import { randomUUID } from 'node:crypto';
import {
  type ClickHouseClient,
  insertRows,
  isInfrastructureError,
  OPS_TABLES,
  type OpsTable,
} from '@waymark/clickhouse';
import type { MetricsLogger } from './metrics/metrics-logger.js';

export type OpsValue = string | number | readonly number[];
export type OpsRow = readonly OpsValue[];

export interface OpsLogOptions {
  readonly clickhouse: ClickHouseClient;
  readonly logger: MetricsLogger;
  readonly intervalMs?: number;
  readonly rowsMax?: number;
}

/**
 * Writes rows for operators, a few seconds late. Nothing ever waits for it: while ClickHouse is away a limited number of rows is
 * kept and the rest dropped and counted.
 */
export interface OpsLog {
  /** A row in the order of the table's columns. */
  add(table: OpsTable, row: OpsRow): void;
  /** Rows dropped so far. */
  dropped(): number;
  /** Told before rows are written, so that what is counted meanwhile can be added. */
  onFlush(listener: () => void): void;
  /** Writes what is there, once. Never rejects. */
  flush(): Promise<void>;
  /** Writes what is there, if ClickHouse answers in time. */
  close(): Promise<void>;
}

interface Batch {
  readonly token: string;
  readonly rows: readonly OpsRow[];
}

const INTERVAL_MS = 10_000;
/** Of a table: at a row a group and workspace, minutes of a busy writer. */
const ROWS_MAX = 20_000;
const INSERT_MS = 5000;
const CLOSE_MS = 1000;

export function createOpsLog(options: OpsLogOptions): OpsLog {
  const { clickhouse, logger, rowsMax = ROWS_MAX } = options;
  const tables = Object.keys(OPS_TABLES) as OpsTable[];
  const waiting = new Map<OpsTable, OpsRow[]>(tables.map((table) => [table, []]));
  /** A batch that was not acknowledged is offered again as it was: ClickHouse drops the repeat if it has it. */
  const unacknowledged = new Map<OpsTable, Batch>();
  const listeners: (() => void)[] = [];
  let dropped = 0;
  let flushing: Promise<void> | undefined;
  let isFailing = false;

  function nextBatch(table: OpsTable): Batch | undefined {
    const offered = unacknowledged.get(table);
    if (offered !== undefined) return offered;
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
        logger.warn({ err, table, rows: batch.rows.length }, 'rows for operators are refused and given up');
      }
      unacknowledged.delete(table);
    }
  }

  async function writeAll(limitMs: number): Promise<void> {
    for (const listener of listeners) listener();
    try {
      for (const table of tables) await write(table, limitMs);
      isFailing = false;
    } catch (err) {
      if (!isFailing) logger.warn({ err }, 'rows for operators wait: ClickHouse does not take them');
      isFailing = true;
    }
  }

  const flush = (limitMs = INSERT_MS): Promise<void> => {
    flushing ??= writeAll(limitMs).finally(() => {
      flushing = undefined;
    });
    return flushing;
  };
  const timer = setInterval(() => void flush(), options.intervalMs ?? INTERVAL_MS);
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
