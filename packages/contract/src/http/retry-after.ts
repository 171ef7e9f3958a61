/**
 * The wait that a `Retry-After` header requires, in milliseconds, at least 0. The header has seconds or, from some servers and proxies, a
 * date. Undefined without a valid header. The caller limits the wait: a server may send any number.
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}
