import { backoffMs, pause } from '../redis/deadline.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';

/** The writer is stopping; the job goes back into the queue. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

export interface PersistenceOptions {
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** Aborted when nothing is to be tried any more. */
  readonly signal: AbortSignal;
}

/** Does something again and again, with growing pauses, until it works. */
export interface Persistence {
  /**
   * Repeats `work` after every error that `isPassing` accepts; others are thrown. `work` is told how often it was tried.
   *
   * @throws StoppedError when the writer stops meanwhile
   */
  insist<T>(what: string, work: (attempt: number) => Promise<T>, isPassing?: (err: unknown) => boolean): Promise<T>;
}

const FIRST_MS = 50;
const MAX_MS = 3000;
const LOG_INTERVAL_MS = 5000;

/** Retries in place: the jobs stay with this writer, their locks renewed, and everything behind them waits. */
export function createPersistence({ logger, now, signal }: PersistenceOptions): Persistence {
  const warn = throttled((context, message) => logger.warn(context, message), LOG_INTERVAL_MS, now);
  return {
    async insist(what, work, isPassing = () => true) {
      for (let attempt = 0; ; attempt++) {
        try {
          return await work(attempt);
        } catch (err) {
          if (!isPassing(err)) throw err;
          warn({ err, attempt }, `${what}: trying again`);
          await pause(backoffMs(attempt, FIRST_MS, MAX_MS), signal);
          if (signal.aborted) throw new StoppedError(`stopped while ${what}`, { cause: err });
        }
      }
    },
  };
}
