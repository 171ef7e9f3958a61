import { type ClickHouseClient, insertRows } from '@waymark/clickhouse';
import { parseResourceId, type WebhookTrigger } from '@waymark/contract';

/** One attempt to deliver an event. */
export interface Delivery {
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
  readonly delivery: Delivery;
  resolve(): void;
  reject(err: unknown): void;
}

/** Writes the log of attempts to ClickHouse, in batches. */
export interface DeliveryLog {
  /** Resolves when the attempt is inserted, rejects if the insert fails. */
  add(delivery: Delivery): Promise<void>;
  /** Inserts the attempts that wait, and resolves when all inserts have ended. */
  close(): Promise<void>;
}

function rowOf(delivery: Delivery) {
  return [
    parseResourceId('workspace', delivery.workspaceId) ?? '0',
    delivery.startedMs,
    parseResourceId('webhook', delivery.webhookId) ?? '0',
    delivery.eventId,
    delivery.event,
    delivery.attempt,
    delivery.url,
    delivery.status,
    Math.round(delivery.elapsedMs),
    delivery.error,
    delivery.requestBody,
    delivery.responseBody,
  ];
}

/** Creates the log of this process. */
export function createDeliveryLog(clickhouse: ClickHouseClient): DeliveryLog {
  const waiting: Waiting[] = [];
  const inserts = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  const insert = async (batch: readonly Waiting[]) => {
    try {
      await insertRows(clickhouse, {
        table: DELIVERIES_TABLE,
        columns: COLUMNS,
        rows: batch.map(({ delivery }) => rowOf(delivery)),
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
    add(delivery) {
      const written = new Promise<void>((resolve, reject) => waiting.push({ delivery, resolve, reject }));
      if (waiting.length >= ROWS_PER_INSERT) flush();
      else timer ??= setTimeout(flush, GATHER_MS);
      return written;
    },

    async close() {
      flush();
      await Promise.all(inserts);
    },
  };
}
