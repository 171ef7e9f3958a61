import type { QueueKind } from '@waymark/clickhouse';
import { createRedisBackend, type IRedisTransaction, type RedisQueueBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUE_PREFIX, queueKeys } from './queue-keys.js';

/** A job about to be added. */
export interface JobDraft {
  readonly kind: QueueKind;
  readonly jobId: string;
  /** Job data, already text. */
  readonly data: string;
}

/** A job is never failed for good: an error that gets as far as BullMQ sends it back into the queue. */
const ATTEMPTS = 1_000_000_000;

/** A transaction of ioredis, as BullMQ sees it, and what we put into it besides jobs. */
export interface Transaction extends IRedisTransaction {
  eval(script: string, keyCount: number, ...keysAndArguments: (string | number)[]): this;
  set(key: string, value: string, px: 'PX', milliseconds: number, nx: 'NX'): this;
}

/** Adds jobs to a transaction of the producer's connection. */
export interface JobAdder {
  /** An empty transaction. */
  transaction(): Promise<Transaction>;
  add(transaction: Transaction, job: JobDraft): Promise<void>;
  /** Teaches Redis BullMQ's script anew: a transaction cannot recover by itself when Redis has forgotten it. */
  loadScripts(): Promise<void>;
}

/** BullMQ's own backend on our connection, without a queue object of each kind: it only has to put its script into a transaction. */
export function createJobAdder(redis: Redis): JobAdder {
  const queueOptions = { connection: redis, prefix: QUEUE_PREFIX, skipVersionCheck: true, skipWaitingForReady: true };
  const backend: RedisQueueBackend = createRedisBackend('click', queueOptions, { blocking: false });
  backend.on('error', () => {
    // The connection's own listener has logged it.
  });

  return {
    async transaction() {
      return (await backend.client).multi() as Transaction;
    },

    async add(transaction, job) {
      await backend.addJobToTransaction(
        transaction,
        {
          id: job.jobId,
          name: 'rows',
          data: job.data,
          opts: { attempts: ATTEMPTS, removeOnComplete: true },
          timestamp: Date.now(),
          progress: 0,
          attemptsMade: 0,
          attemptsStarted: 0,
          stalledCounter: 0,
          failedReason: '',
          returnvalue: '',
        },
        job.jobId,
        {},
        queueKeys(job.kind),
      );
    },

    async loadScripts() {
      const scripts = Object.values((redis as unknown as { scriptsSet: Record<string, { lua: string }> }).scriptsSet);
      await Promise.all(scripts.map(({ lua }) => redis.script('LOAD', lua)));
    },
  };
}
