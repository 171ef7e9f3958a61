import { connectRedis, NotReplicatedError } from '@waymark/redis';
import type { Redis, RedisOptions } from 'ioredis';
import { DiscardedTransactionError, PartialTransactionError } from './execute-transaction.js';
import { type QueueLogger, throttled } from './throttled-log.js';

const RETRY_MAX_MS = 500;
const ERROR_LOG_INTERVAL_MS = 5000;
/**
 * A connection with unanswered commands that has received nothing for this long is closed: the other host is gone, or a router
 * has dropped the connection. The operating system would close it only after a quarter of an hour.
 */
const PRODUCER_SILENCE_MS_MAX = 10_000;
/** The same for workers, whose blocking commands wait for up to ten seconds. */
export const WORKER_SILENCE_MS_MAX = 20_000;

function connect(url: string, options: RedisOptions, logger: QueueLogger): Redis {
  const redis = connectRedis(url, {
    retryStrategy: (times) => Math.min(25 * times, RETRY_MAX_MS),
    connectTimeout: 5000,
    maxLoadingRetryTime: 200,
    ...options,
  });
  const warn = throttled((context, message) => logger.warn(context, message), ERROR_LOG_INTERVAL_MS);
  redis.on('error', (err: Error) => warn({ err }, 'redis connection'));
  return redis;
}

/**
 * The producer's connection. ioredis must neither queue commands while it reconnects nor resend them: a command that was in
 * flight when the connection broke is rejected, and batch-sender.ts repeats what is safe to repeat.
 */
export function connectProducer(url: string, logger: QueueLogger): Redis {
  return connect(
    url,
    {
      enableOfflineQueue: false,
      socketTimeout: PRODUCER_SILENCE_MS_MAX,
      // Rejects all unanswered commands at the first failed reconnect; otherwise they would hang for ever.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    },
    logger,
  );
}

/** A writer's connection. Its commands can be repeated safely, so ioredis resends them once Redis is back, as BullMQ workers require. */
export function connectWriter(url: string, logger: QueueLogger): Redis {
  return connect(url, { maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS_MAX }, logger);
}

function isOutOfMemoryReply(err: unknown): boolean {
  return err instanceof Error && (err.message.startsWith('OOM ') || err.message.includes('-OOM '));
}

/** Whether Redis refused a command because it is at its memory limit. The command had no effect. */
export function isOutOfMemory(err: unknown): boolean {
  if (isOutOfMemoryReply(err)) return true;
  if (err instanceof PartialTransactionError || err instanceof NotReplicatedError) return isOutOfMemoryReply(err.cause);
  // If Redis discards a transaction, ioredis puts the errors of its commands here. Not recursive: a connection error can contain itself.
  const previous: unknown = err instanceof Error && 'previousErrors' in err ? err.previousErrors : undefined;
  return Array.isArray(previous) && previous.some(isOutOfMemoryReply);
}

/**
 * Whether the command certainly had no effect: it was never sent, or Redis replied with an error. After any other error, such as
 * a connection that closed before the reply, the command may have been carried out.
 */
export function hadNoEffect(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  return (
    err.name === 'ReplyError' || err instanceof DiscardedTransactionError || err.message.includes('enableOfflineQueue')
  );
}
