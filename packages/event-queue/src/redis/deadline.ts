import { setTimeout as delay } from 'node:timers/promises';
import { withTimeout } from '@waymark/cache';

/** Work, usually a command of Redis, has not ended in time. It may still be carried out. */
export class DeadlineError extends Error {
  constructor(what: string, milliseconds: number) {
    super(`${what}: no answer within ${Math.round(milliseconds)} ms`);
    this.name = 'DeadlineError';
  }
}

/** Settles like `work`, or rejects with a {@link DeadlineError} after the timeout. A later result is ignored. */
export function withinMs<T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> {
  return withTimeout(work, milliseconds, () => {
    throw new DeadlineError(what, milliseconds);
  });
}

/** Resolves after the time, or as soon as `signal` is aborted. Never rejects. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return delay(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Delay before retry number `attempt` (from 0): exponential up to `maxMs`, with jitter. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20));
  return full / 2 + (Math.random() * full) / 2;
}
