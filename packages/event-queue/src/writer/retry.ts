import { backoffMs, pause } from '../redis/deadline.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';

/** The writer is stopping. BullMQ returns a job that fails with this to the queue, because jobs have unlimited attempts. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

export interface RetryOptions {
  readonly logger: QueueLogger;
  readonly now: () => number;
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

/** Retries in place: this writer keeps its jobs and renews their locks, and the jobs behind them wait. */
export function createRetry({ logger, now, signal, onError }: RetryOptions): Retry {
  const warn = throttled((context, message) => logger.warn(context, message), LOG_INTERVAL_MS, now);
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
