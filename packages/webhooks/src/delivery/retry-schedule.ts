// When deliveries are retried, and when a webhook is disabled.

/** Delays after the first, second and third failed attempt, in milliseconds. */
const RETRY_DELAYS_MS = [12_000, 148_000, 1_808_000] as const;
/** Number of consecutive failed attempts after which a webhook is disabled. */
export const FAILURES_MAX = 20;
/** Numbers of consecutive failed attempts at which a warning is logged. */
const WARNINGS_AT: ReadonlySet<number> = new Set([5, 10, 15]);

/**
 * @param attempt number of the failed attempt, from 1
 * @returns the milliseconds until the next attempt; undefined after the last one
 */
export function retryDelayMs(attempt: number): number | undefined {
  return RETRY_DELAYS_MS[attempt - 1];
}

/** Whether a warning is to be logged at this number of consecutive failed attempts. */
export function isWarningDue(failures: number): boolean {
  return WARNINGS_AT.has(failures);
}

/** Whether an HTTP status means that the receiver has the event. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
