import { setTimeout as delay } from 'node:timers/promises';

/** Options of {@link waitFor}. */
export interface WaitOptions {
  /** Default: a minute. Give less when the condition is met within a minute without what is tested, too, such as by the end of a lease. */
  readonly timeoutMs?: number;
  /** What the test waits for, for the error message. */
  readonly what: string;
  /** Why the condition cannot be met any more, such as the end of a process; undefined while it can. A reason ends the wait at once. */
  readonly failure?: () => string | undefined;
  /** What is appended to the error message, such as the output of a process until then. */
  readonly details?: () => string;
}

const POLL_MS_MIN = 10;
const POLL_MS_MAX = 250;
/** Share of the time waited so far after which the condition is tried again, so that long waits leave the processor to other tests. */
const POLL_SHARE = 0.1;
/** The pause after a try is this many times as long as the try, so that a wait for a costly condition takes a third of a processor at most. */
const PAUSES_OF_TRY = 2;
const PAUSE_OF_TRY_MS_MAX = 1000;
/** A wait has time for this many such pauses, however short it is. */
const PAUSES_OF_WAIT = 10;

/**
 * Waits until `condition` returns something other than `undefined`, `null` or `false`, and returns that. A condition that throws is
 * treated as not met.
 *
 * @throws Error when the time is over, with the last error of the condition as its cause, or when there is a `failure`
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 60_000, what, failure, details }: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const startedMs = Date.now();
  const deadline = startedMs + timeoutMs;
  const pauseOfTryMax = Math.min(PAUSE_OF_TRY_MS_MAX, timeoutMs / PAUSES_OF_WAIT);
  const failed = (message: string, cause?: unknown) =>
    new Error(details === undefined ? message : `${message}:\n${details()}`, { cause });
  for (;;) {
    let cause: unknown;
    const triedMs = Date.now();
    try {
      const value = await condition();
      if (value !== undefined && value !== null && value !== false)
        return value as Exclude<T, undefined | null | false>;
    } catch (err) {
      cause = err;
    }
    const reason = failure?.();
    if (reason !== undefined) throw failed(`${reason}, so there is no waiting for ${what}`, cause);
    if (Date.now() >= deadline) throw failed(`waited ${timeoutMs} ms for ${what}`, cause);
    const nowMs = Date.now();
    const pauseOfWait = Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, (nowMs - startedMs) * POLL_SHARE));
    await delay(Math.max(pauseOfWait, Math.min(pauseOfTryMax, (nowMs - triedMs) * PAUSES_OF_TRY)));
  }
}
