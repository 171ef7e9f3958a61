import { Redis, type RedisOptions } from 'ioredis';
import { DiscardedTransactionError, PartialTransactionError } from './execute-transaction.js';
import { type QueueLogger, throttled } from './throttled-log.js';

const RETRY_MAX_MS = 500;
const ERROR_LOG_INTERVAL_MS = 5000;
/**
 * A connection on which commands wait and nothing has been received for that long is dead, although not closed: the other host is gone,
 * or a router has dropped its state. Without this the system closes it after a quarter of an hour.
 */
const PRODUCER_SILENCE_MS_MAX = 10_000;
/** Workers block for ten seconds at most. */
export const WORKER_SILENCE_MS_MAX = 20_000;

function connect(url: string, options: RedisOptions, logger: QueueLogger): Redis {
  const redis = new Redis(url, {
    retryStrategy: (times) => Math.min(25 * times, RETRY_MAX_MS),
    connectTimeout: 5000,
    maxLoadingRetryTime: 200,
    ...options,
  });
  const warn = throttled((context, message) => logger.warn(context, message), ERROR_LOG_INTERVAL_MS, Date.now);
  redis.on('error', (err: Error) => warn({ err }, 'redis connection'));
  return redis;
}

/**
 * The producer's connection. Nothing waits in it for a reconnect and nothing is sent twice behind our back: a command that
 * was on its way when the connection broke is rejected, and what to repeat, under which job id, is decided by the batch.
 */
export function connectProducer(url: string, logger: QueueLogger): Redis {
  return connect(
    url,
    {
      enableOfflineQueue: false,
      socketTimeout: PRODUCER_SILENCE_MS_MAX,
      // Rejects everything unanswered at the first failed reconnect; without it such commands would hang for ever.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    },
    logger,
  );
}

/** A writer's connection: its commands may be repeated, so they wait for Redis as long as it takes. BullMQ asks for this. */
export function connectWriter(url: string, logger: QueueLogger): Redis {
  return connect(url, { maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS_MAX }, logger);
}

function saysOutOfMemory(err: unknown): boolean {
  return err instanceof Error && (err.message.startsWith('OOM ') || err.message.includes('-OOM '));
}

/** Redis refused for lack of memory: nothing was done, and repeating at once would not help. */
export function isOutOfMemory(err: unknown): boolean {
  if (saysOutOfMemory(err)) return true;
  if (err instanceof PartialTransactionError) return saysOutOfMemory(err.cause);
  // A discarded transaction lists why. Not recursive: a broken connection is listed as a cause of itself.
  const previous: unknown = err instanceof Error && 'previousErrors' in err ? err.previousErrors : undefined;
  return Array.isArray(previous) && previous.some(saysOutOfMemory);
}

/**
 * Whether the command certainly had no effect: it was never sent, or Redis answered that it did nothing. Anything else, above all
 * a connection that closed before the answer, leaves open whether it was carried out.
 */
export function isRefusal(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  return (
    err.name === 'ReplyError' || err instanceof DiscardedTransactionError || err.message.includes('enableOfflineQueue')
  );
}
