/** The logger of this package; a pino logger fits. */
export interface QueueLogger {
  debug(context: object, message: string): void;
  info(context: object, message: string): void;
  warn(context: object, message: string): void;
  error(context: object, message: string): void;
}

/**
 * Logs at most one line per interval, with the number of lines suppressed before it: while a store is unavailable, errors can
 * come thousands of times a second. A system time that is set back does not lengthen the interval.
 */
export function throttled(
  log: (context: object, message: string) => void,
  intervalMs: number,
): (context: object, message: string) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  return (context, message) => {
    const nowMs = performance.now();
    if (nowMs < nextMs) {
      suppressed += 1;
      return;
    }
    nextMs = nowMs + intervalMs;
    log(suppressed > 0 ? { ...context, suppressedLines: suppressed } : context, message);
    suppressed = 0;
  };
}
