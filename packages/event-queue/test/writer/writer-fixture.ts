import type { QueueKind } from '@waymark/event-format';
import { createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { createEventWriter, type EventWriter, type EventWriterOptions } from '../../src/index.js';
import { createJobAdder } from '../../src/queue/job-adder.js';
import { createJobId } from '../../src/queue/job-id.js';
import { joinRows } from '../../src/queue/job-rows.js';
import { jobKey, QUEUE_KINDS, queueKey } from '../../src/queue/keys.js';
import { silentLogger } from '../silent-logger.js';

export interface AddedJob {
  readonly jobId?: string;
  readonly version?: number;
  /** Indexes of the rows that the job's transaction is to have discarded. */
  readonly discarded?: readonly number[];
}

/** A Redis server, an empty database, and writers between them. */
export interface WriterFixture {
  readonly redis: TestRedis;
  readonly admin: Redis;
  readonly database: TestDatabase;
  aWriter(options?: Partial<EventWriterOptions>): EventWriter;
  /** Adds a job as a producer would, and returns its id. */
  add(kind: QueueKind, rows: readonly unknown[], job?: AddedJob): Promise<string>;
  /** Resolves when no job waits or is being written. */
  untilDrained(): Promise<void>;
  select<T>(query: string, params?: Record<string, unknown>): Promise<T[]>;
  stop(): Promise<void>;
}

export async function startWriterFixture(): Promise<WriterFixture> {
  const [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  const admin = new Redis(redis.url, { maxRetriesPerRequest: null });
  admin.on('error', () => {});
  const adder = createJobAdder(admin);
  const writers: EventWriter[] = [];
  return {
    redis,
    admin,
    database,
    aWriter(options = {}) {
      const writer = createEventWriter({
        redisUrl: redis.url,
        clickhouse: database.client,
        logger: silentLogger,
        limits: { batchDelayMs: 10 },
        closeMs: 2000,
        ...options,
      });
      writers.push(writer);
      return writer;
    },
    async add(kind, rows, { jobId = createJobId(), version = 1, discarded } = {}) {
      const multi = await adder.transaction();
      const text = joinRows(rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))));
      await adder.add(multi, { kind, jobId, version, rowCount: rows.length, rows: text });
      if (discarded !== undefined) multi.hset(jobKey(kind, jobId), { progress: JSON.stringify({ struck: discarded }) });
      await multi.exec();
      return jobId;
    },
    async untilDrained() {
      await waitFor(
        async () => {
          const lists = QUEUE_KINDS.flatMap((kind) => [queueKey(kind, 'wait'), queueKey(kind, 'active')]);
          const lengths = await Promise.all(lists.map((list) => admin.llen(list)));
          return lengths.every((length) => length === 0);
        },
        { what: 'the queues to be empty' },
      );
    },
    async select(query, params = {}) {
      const result = await database.client.query({ query, query_params: params, format: 'JSONEachRow' });
      return result.json();
    },
    async stop() {
      await Promise.all(writers.map((writer) => writer.close()));
      admin.disconnect();
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}
