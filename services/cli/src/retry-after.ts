/** A command does not wait longer than this for the API, whatever a proxy in front of it answers. */
const RETRY_AFTER_MS_MAX = 10 * 60_000;

/** The milliseconds that a `Retry-After` header asks to wait: it has seconds or, from some proxies, a date. 0 without a valid header. */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number {
  if (!header) return 0;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}
