import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** 20 s by default. */
  readonly timeoutMs?: number;
  /** What is waited for, for the message. */
  readonly what: string;
}

const POLL_MS = 10;

/**
 * Waits until `condition` gives something other than `undefined`, `null` or `false`, and resolves to it. A condition that
 * throws is not met yet; the last error is the cause of the timeout's.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 20_000, what }: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + timeoutMs;
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
    await delay(POLL_MS);
  }
}
