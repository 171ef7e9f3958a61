import { type ClickHouseClient, insertRows } from '@waymark/clickhouse';
import { parseResourceId, type WebhookTrigger } from '@waymark/contract';

/** One attempt of a delivery. */
export interface DeliveryAttempt {
  readonly workspaceId: string;
  readonly webhookId: string;
  /** `evt_…` */
  readonly eventId: string;
  readonly event: WebhookTrigger;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly startedMs: number;
  readonly url: string;
  /** 503 if there was no response. */
  readonly status: number;
  readonly elapsedMs: number;
  /** Why there was no response; empty if there was one. */
  readonly error: string;
  readonly requestBody: string;
  /** The first 8 kB. */
  readonly responseBody: string;
}

/** The table of attempts. */
export const DELIVERIES_TABLE = 'webhook_deliveries';
const COLUMNS = [
  'workspace_id',
  'timestamp',
  'webhook_id',
  'event_id',
  'event',
  'attempt',
  'url',
  'status',
  'elapsed_ms',
  'error',
  'request_body',
  'response_body',
] as const;

/** How long attempts are gathered into one insert. */
const GATHER_MS = 100;
const ROWS_PER_INSERT = 500;
const INSERT_SECONDS_MAX = 10;

/** An attempt that is not inserted yet, with the outcome of `add`. */
interface Waiting {
  readonly attempt: DeliveryAttempt;
  resolve(): void;
  reject(err: unknown): void;
}

/** Writes the log of attempts to ClickHouse, in batches. */
export interface DeliveryLog {
  /** Resolves when the attempt is inserted, rejects if the insert fails. After `close` nothing is inserted: such an attempt is repeated. */
  add(attempt: DeliveryAttempt): Promise<void>;
  /** Inserts the attempts that wait, and resolves when all inserts have ended. */
  close(): Promise<void>;
}

function rowOf(made: DeliveryAttempt) {
  return [
    parseResourceId('workspace', made.workspaceId) ?? '0',
    made.startedMs,
    parseResourceId('webhook', made.webhookId) ?? '0',
    made.eventId,
    made.event,
    made.attempt,
    made.url,
    made.status,
    Math.round(made.elapsedMs),
    made.error,
    made.requestBody,
    made.responseBody,
  ];
}

/** Creates the log of this process. */
export function createDeliveryLog(clickhouse: ClickHouseClient): DeliveryLog {
  const waiting: Waiting[] = [];
  const inserts = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const insert = async (batch: readonly Waiting[]) => {
    try {
      await insertRows(clickhouse, {
        table: DELIVERIES_TABLE,
        columns: COLUMNS,
        rows: batch.map(({ attempt }) => rowOf(attempt)),
        maxExecutionSeconds: INSERT_SECONDS_MAX,
      });
      for (const { resolve } of batch) resolve();
    } catch (err) {
      for (const { reject } of batch) reject(err);
    }
  };

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    while (waiting.length > 0) {
      const inserting = insert(waiting.splice(0, ROWS_PER_INSERT)).finally(() => inserts.delete(inserting));
      inserts.add(inserting);
    }
  };

  return {
    add(attempt) {
      if (isClosed) return Promise.resolve();
      const written = new Promise<void>((resolve, reject) => waiting.push({ attempt, resolve, reject }));
      if (waiting.length >= ROWS_PER_INSERT) flush();
      else timer ??= setTimeout(flush, GATHER_MS);
      return written;
    },

    async close() {
      isClosed = true;
      flush();
      await Promise.all(inserts);
    },
  };
}
