/** When a delivery is tried again, how often, and when a webhook is given up. */

/** After the first, second and third failed attempt. */
const RETRY_DELAYS_MS = [12_000, 148_000, 1_808_000] as const;
/** Failed attempts in a row after which a webhook is disabled. */
export const FAILURES_MAX = 20;
/** Numbers of failed attempts in a row at which its owner is notified. */
const NOTICES_AT: ReadonlySet<number> = new Set([5, 10, 15]);

/** @param attempt the one that failed, from 1; @returns undefined when it was the last */
export function retryDelayMs(attempt: number): number | undefined {
  return RETRY_DELAYS_MS[attempt - 1];
}

export function isNoticed(failures: number): boolean {
  return NOTICES_AT.has(failures);
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
