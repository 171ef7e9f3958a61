import type { QueueKind } from '@waymark/event-format';
import { createReplication, type Replication } from '@waymark/redis';
import { createRedisBackend, type IRedisTransaction, type JobsOptions, type RedisQueueBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { DiscardedTransactionError, execute, PartialTransactionError } from '../redis/execute-transaction.js';
import type { JobData } from './job-rows.js';
import { QUEUE_PREFIX, type QueueName, queueKeys, rowsKey } from './keys.js';

/** A job of event rows to add. */
export interface JobDraft {
  readonly kind: QueueKind;
  readonly jobId: string;
  readonly version: number;
  readonly rowCount: number;
  /** The rows, joined by `joinRows`. */
  readonly rows: string;
}

/** In effect no limit on attempts: a job that fails returns to the queue, and is never given up. */
const ROW_JOB_OPTIONS: JobsOptions = { attempts: 1_000_000_000, removeOnComplete: true };

/** A transaction of ioredis: the interface that BullMQ uses, and the commands that this package adds besides jobs. */
export interface Transaction extends IRedisTransaction {
  set(key: string, value: string, ...expiry: ['PX', number] | []): this;
  eval(script: string, keyCount: number, ...keysAndArguments: (string | number)[]): this;
}

/** Adds jobs to transactions of one connection. */
export interface JobAdder {
  /** An empty transaction. */
  transaction(): Promise<Transaction>;
  /** Adds a job of event rows to the transaction. */
  add(transaction: Transaction, job: JobDraft): Promise<void>;
  /** Adds a job with other data than rows to the transaction. */
  addTo(transaction: Transaction, queue: QueueName, jobId: string, data: string, options?: JobsOptions): Promise<void>;
  /**
   * Runs a transaction, and waits for replicas if the adder was given a replication. If Redis has lost BullMQ's scripts, the transaction
   * fails; its scripts are then loaded again, so that the next transaction succeeds.
   *
   * @returns the reply to each command, in order
   * @throws the same errors as `execute` and {@link Replication.confirmed}
   */
  run(transaction: Transaction): Promise<readonly unknown[]>;
}

/** The scripts that ioredis copies onto every transaction it creates. */
function transactionScripts(redis: Redis): Record<string, { readonly lua: string }> {
  return (redis as unknown as { scriptsSet: Record<string, { readonly lua: string }> }).scriptsSet;
}

/**
 * Removes all scripts but the one that adds a job from a connection that only adds jobs. BullMQ defines fifty, and copying
 * them onto each transaction was a tenth of the cost of a batch of clicks.
 */
export function keepOnlyJobScripts(redis: Redis): void {
  const scripts = transactionScripts(redis);
  for (const name of Object.keys(scripts)) if (!name.startsWith('addStandardJob')) delete scripts[name];
}

/** Whether Redis may have lost a script. ioredis sends the text of a script only once, and then refers to it by its hash. */
function mayLackScripts(err: unknown): boolean {
  if (err instanceof DiscardedTransactionError) return true;
  return err instanceof PartialTransactionError && (err.cause as Error).message.startsWith('NOSCRIPT');
}

async function loadScripts(redis: Redis): Promise<void> {
  const scripts = Object.values(transactionScripts(redis));
  await Promise.all(scripts.map(({ lua }) => redis.script('LOAD', lua)));
}

/** Creates the adder. It uses BullMQ's Redis backend without a Queue object per kind, because it only adds BullMQ's script to transactions. */
export function createJobAdder(redis: Redis, replication: Replication = createReplication(redis, 0)): JobAdder {
  const queueOptions = { connection: redis, prefix: QUEUE_PREFIX, skipVersionCheck: true, skipWaitingForReady: true };
  const backend: RedisQueueBackend = createRedisBackend('click', queueOptions, { blocking: false });
  backend.on('error', () => {
    // The connection's own error listener logs it.
  });

  const addTo: JobAdder['addTo'] = async (transaction, queue, jobId, data, options = ROW_JOB_OPTIONS) => {
    const job = {
      id: jobId,
      name: 'rows',
      data,
      opts: options,
      timestamp: Date.now(),
      progress: 0,
      attemptsMade: 0,
      attemptsStarted: 0,
      stalledCounter: 0,
      failedReason: '',
      returnvalue: '',
    };
    await backend.addJobToTransaction(transaction, job, jobId, {}, queueKeys(queue));
  };

  return {
    addTo,

    async transaction() {
      return (await backend.client).multi() as Transaction;
    },

    async add(transaction, { kind, jobId, version, rowCount, rows }) {
      const data: JobData = { v: version, rows: rowCount, size: rows.length };
      await addTo(transaction, kind, jobId, JSON.stringify(data));
      transaction.set(rowsKey(kind, jobId), rows);
    },

    async run(transaction) {
      try {
        return await replication.confirmed(() => execute(transaction));
      } catch (err) {
        if (mayLackScripts(err)) await loadScripts(redis);
        throw err;
      }
    },
  };
}
