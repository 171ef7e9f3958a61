import { retryAfterMs } from '@waymark/contract';

/** A command does not wait longer than this for the API, whatever a proxy in front of it answers. */
const PAUSE_MS_MAX = 10 * 60_000;

/** The milliseconds that the API asks a command to wait, at most ten minutes; 0 without a valid header. @param header `Retry-After` */
export function askedPauseMs(header: string | null | undefined): number {
  return Math.min(retryAfterMs(header, Date.now()) ?? 0, PAUSE_MS_MAX);
}
