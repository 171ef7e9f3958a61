import { backoffMs, pause } from '../redis/deadline.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';

/** The writer stops. A job that fails with this error returns to the queue, because its attempts are not limited. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

export interface RetryOptions {
  readonly logger: QueueLogger;
  /** When aborted, nothing is retried any more. */
  readonly signal: AbortSignal;
  /** Called with every error. */
  readonly onError: (err: unknown) => void;
}

/**
 * Runs `work` until it succeeds, with exponential backoff. Errors that are not `isTransient` are thrown (default: all are
 * transient). `work` receives the number of earlier attempts.
 *
 * @param what names the work in log lines
 * @throws StoppedError when the writer stops
 */
export type Retry = <T>(
  what: string,
  work: (attempt: number) => Promise<T>,
  isTransient?: (err: unknown) => boolean,
) => Promise<T>;

const FIRST_MS = 50;
const MAX_MS = 3000;
const LOG_INTERVAL_MS = 5000;

/** Creates a {@link Retry}. During retries the writer keeps its jobs and renews their locks, and later jobs wait in the queue. */
export function createRetry({ logger, signal, onError }: RetryOptions): Retry {
  const warn = throttled((context, message) => logger.warn(context, message), LOG_INTERVAL_MS);
  return async (what, work, isTransient = () => true) => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work(attempt);
      } catch (err) {
        onError(err);
        if (!isTransient(err)) throw err;
        warn({ err, attempt }, `${what}: retrying`);
        await pause(backoffMs(attempt, FIRST_MS, MAX_MS), signal);
        if (signal.aborted) throw new StoppedError(`stopped while ${what}`, { cause: err });
      }
    }
  };
}
