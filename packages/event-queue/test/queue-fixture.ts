import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEventId } from '@waymark/contract';
import type { QueueKind } from '@waymark/event-format';
import { aClick, startRedis, startTcpProxy, type TcpProxy, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { clickClaim, createEventProducer, type EventProducer, type EventProducerOptions } from '../src/index.js';
import { splitRows } from '../src/queue/job-rows.js';
import { jobKey, queueKey, rowsKey } from '../src/queue/keys.js';
import { silentLogger } from './silent-logger.js';

/** Prevents clicks from being spooled because the test machine is slow. */
const LONG_DEADLINE_MS = 10_000;

export interface QueuedJob {
  readonly id: string;
  /** The rows as JSON. */
  readonly texts: string[];
  readonly rows: unknown[][];
  readonly progress: string | null;
}

/** A Redis server behind a TCP proxy, and producers that connect through the proxy. */
export interface QueueFixture {
  readonly redis: TestRedis;
  readonly proxy: TcpProxy;
  /** A direct connection to Redis, without the proxy. */
  readonly admin: Redis;
  readonly spoolDirectory: string;
  /** Creates a producer and waits until it is connected. */
  aProducer(options?: Partial<EventProducerOptions>): Promise<EventProducer>;
  queued(kind: QueueKind): Promise<QueuedJob[]>;
  /** Closes the producers and deletes all data, for the next test. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export async function startQueueFixture(redisArgs: readonly string[] = []): Promise<QueueFixture> {
  const redis = await startRedis({ args: redisArgs });
  const proxy = await startTcpProxy(redis.port);
  const admin = new Redis(redis.url, { maxRetriesPerRequest: null });
  admin.on('error', () => {});
  const spoolDirectory = await mkdtemp(join(tmpdir(), 'waymark-spool-'));
  const producers: EventProducer[] = [];
  return {
    redis,
    proxy,
    admin,
    spoolDirectory,
    async aProducer(options = {}) {
      const redisUrl = `redis://127.0.0.1:${proxy.port}`;
      const defaults = { redisUrl, spoolDirectory, logger: silentLogger, clickDeadlineMs: LONG_DEADLINE_MS };
      const producer = createEventProducer({ ...defaults, ...options });
      producers.push(producer);
      await waitFor(() => producer.ping().then(() => true), { what: 'the producer to be connected' });
      return producer;
    },
    async queued(kind) {
      const ids = (await admin.lrange(queueKey(kind, 'wait'), 0, -1)).reverse();
      return Promise.all(
        ids.map(async (id) => {
          const texts = splitRows((await admin.get(rowsKey(kind, id))) ?? '');
          const rows = texts.map((row): unknown[] => JSON.parse(row));
          return { id, texts, rows, progress: await admin.hget(jobKey(kind, id), 'progress') };
        }),
      );
    },
    async reset() {
      proxy.pass();
      await Promise.all(producers.splice(0).map((producer) => producer.close()));
      await rm(spoolDirectory, { recursive: true, force: true });
      await admin.flushall();
    },
    async stop() {
      proxy.pass();
      await Promise.all(producers.map((producer) => producer.close()));
      admin.disconnect();
      await proxy.stop();
      await redis.stop();
      await rm(spoolDirectory, { recursive: true, force: true });
    },
  };
}

/** A click of a visitor, by default now. */
export function aVisit(visitor: string, facts: Parameters<typeof aClick>[0] = {}) {
  const timestampMs = facts.timestampMs ?? Date.now();
  const clickId = facts.clickId ?? createEventId(timestampMs);
  return {
    claim: clickClaim('link_1', visitor),
    clickId,
    rowText: JSON.stringify(aClick({ ...facts, clickId, timestampMs })),
  };
}
