/** What this package writes to; pino's logger is one. */
export interface QueueLogger {
  debug(context: object, message: string): void;
  info(context: object, message: string): void;
  warn(context: object, message: string): void;
  error(context: object, message: string): void;
}

/**
 * Lets one line through per interval and says how many it held back: a store that is away fails thousands of times a second.
 */
export function throttled(
  log: (context: object, message: string) => void,
  intervalMs: number,
  now: () => number,
): (context: object, message: string) => void {
  let nextAt = 0;
  let held = 0;
  return (context, message) => {
    if (now() < nextAt) {
      held += 1;
      return;
    }
    nextAt = now() + intervalMs;
    log(held > 0 ? { ...context, similarLinesHeldBack: held } : context, message);
    held = 0;
  };
}
