import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** Default: a minute. Give less when the condition would also be met within a minute without what is tested, as a lease expires. */
  readonly timeoutMs?: number;
  /** What the test waits for, for the error message. */
  readonly what: string;
}

const POLL_MS_MIN = 10;
const POLL_MS_MAX = 250;
/** Share of the time waited so far after which the condition is tried again, so that long waits leave the processor to other tests. */
const POLL_SHARE = 0.1;

/**
 * Waits until `condition` returns something other than `undefined`, `null` or `false`, and returns that. A condition that throws is
 * treated as not met; its last error becomes the cause of the timeout error.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 60_000, what }: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const startedMs = Date.now();
  const deadline = startedMs + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      const value = await condition();
      if (value !== undefined && value !== null && value !== false)
        return value as Exclude<T, undefined | null | false>;
    } catch (err) {
      cause = err;
    }
    if (Date.now() >= deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause });
    await delay(Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, (Date.now() - startedMs) * POLL_SHARE)));
  }
}
