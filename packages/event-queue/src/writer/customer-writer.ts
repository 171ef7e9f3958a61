import { type ClickHouseClient, insertLines, insertRows, QUORUM_INSERT } from '@waymark/clickhouse';
import { customerNameRow, type EventRow, NAMES_TABLE, QUEUE_TABLES, readCustomerRow } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { removePendingCustomers } from '../claims/pending-customers.js';
import { isErasedCustomer, type LateRows, readErased } from '../erasure/late-rows.js';
import type { DeadLetter, DeadLetters } from '../queue/dead-letters.js';
import { joinRows } from '../queue/job-rows.js';
import { rowsKey } from '../queue/keys.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { layOutRows } from './batch-rows.js';
import type { WriterJob } from './batch-writer.js';
import { isBadData } from './insert/bad-data.js';
import { bisect } from './insert/bisect.js';
import type { Retry } from './retry.js';
import { reportOf, type WriteReport } from './write-report.js';

export interface CustomerWriterOptions {
  readonly redis: Redis;
  readonly client: ClickHouseClient;
  /** Whether tables are replicated. The catalog then reads customers and names with sequential consistency, so inserts wait for a quorum. */
  readonly isReplicated: boolean;
  readonly deadLetters: DeadLetters;
  readonly retry: Retry;
  /** The erasures: customers who were erased are not stored. By default there are none. */
  readonly lateRows?: LateRows | undefined;
  /** Called after a batch is stored. */
  readonly onStored?: ((report: WriteReport) => void) | undefined;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

const KIND = 'customer';
const INSERT_SECONDS_MAX = 60;
const NOT_A_CUSTOMER = 'not a customer row';

function columnsOf(version: number): readonly string[] | undefined {
  const lists: Readonly<Record<number, readonly string[]>> = QUEUE_TABLES.customer.columns;
  return lists[version];
}

/**
 * Writes customers and their names. A row replaces older versions of itself, so writing it again is idempotent, and needs neither manifest
 * nor token. The name makes a customer visible, so it is written after the row. Then the customer's pending entry is removed.
 */
export function createCustomerWriter(options: CustomerWriterOptions) {
  const { redis, client, deadLetters, retry, lateRows, logger, now } = options;
  const insertOptions = {
    maxExecutionSeconds: INSERT_SECONDS_MAX,
    settings: options.isReplicated ? QUORUM_INSERT : undefined,
  };

  /** The rows without those of customers who were erased since they were queued. */
  const notErased = async (rows: readonly string[]): Promise<readonly string[]> => {
    const people = lateRows === undefined ? undefined : await readErased(lateRows);
    if (lateRows === undefined || people === undefined) return rows;
    const left: string[] = [];
    for (const row of rows) if (!(await isErasedCustomer(row, people, lateRows))) left.push(row);
    return left;
  };

  const insert = (version: number, all: readonly string[]): Promise<number> =>
    retry(
      'inserting customers',
      async (attempt) => {
        const rows = await notErased(all);
        if (rows.length === 0) return attempt + 1;
        const columns = columnsOf(version) ?? [];
        const { table } = QUEUE_TABLES.customer;
        await insertLines(client, { table, columns, lines: joinRows(rows), ...insertOptions });
        await insertRows(client, {
          ...NAMES_TABLE,
          rows: rows.map((row) => customerNameRow(JSON.parse(row) as EventRow)),
          ...insertOptions,
        });
        return attempt + 1;
      },
      (err) => !isBadData(err),
    );

  const park = (letter: Omit<DeadLetter, 'kind' | 'at'>) => {
    logger.error({ kind: KIND, jobId: letter.jobId }, 'moving a row to the dead-letter queue');
    return retry('parking a row', () => deadLetters.park([{ ...letter, kind: KIND, at: now() }]));
  };

  return {
    supports: (version: number) => columnsOf(version) !== undefined,

    async write(jobs: readonly WriterJob[]): Promise<void> {
      const jobIds = jobs.map(({ id }) => id);
      const texts = await retry('reading rows', () => redis.mget(...jobIds.map((id) => rowsKey(KIND, id))));
      const version = jobs[0]?.data.v ?? 0;
      const skipped = Object.fromEntries(jobs.map(({ discarded }, member) => [member, discarded]));
      const batch = { id: '', kind: KIND, version, jobIds, skipped, at: now() } as const;
      const faultOf = (row: string) => (readCustomerRow(row) === undefined ? NOT_A_CUSTOMER : undefined);
      const rows = layOutRows(batch, texts, faultOf);
      for (const { jobId, index, row, fault } of rows.faulty) await park({ jobId, index, version, row, error: fault });
      const since = now();
      const bisection = {
        insert: (from: number, to: number) => insert(version, rows.texts.slice(from, to)),
        park: (position: number, error: string) =>
          park({ ...rows.originOf(position), version, row: rows.texts[position] ?? '', error }),
      };
      const inserted = await bisect(bisection, 0, rows.texts.length);
      const storedMs = now();
      await retry('removing pending customers', () =>
        removePendingCustomers(
          redis,
          rows.texts.flatMap((row) => readCustomerRow(row) ?? []),
        ),
      );
      const gatherMs = since - Math.min(...jobs.map(({ receivedMs }) => receivedMs));
      options.onStored?.(reportOf(KIND, rows, inserted, { gatherMs, since, storedMs }));
    },
  };
}
