import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type ErrorCode } from '@waymark/contract';

/** Why a stream ends, as its `bye` says. */
export type ByeReason = 'lifetime' | 'shutdown' | 'key' | 'filter' | 'unavailable';

/** Ends a stream; the reason of its signal. */
export class StreamEnd extends Error {
  override readonly name = 'StreamEnd';

  constructor(
    readonly reason: ByeReason,
    options?: ErrorOptions,
  ) {
    super(`the stream ends: ${reason}`, options);
  }
}

/** Codes of errors that a later attempt may not have. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set(['internal_server_error', 'rate_limit_exceeded']);
const FIRST_MS = 100;
const MAX_MS = 2000;

/** Whether a new request would be refused for good: a filter names a folder that was removed, or the key was. */
export function isRefusal(err: unknown): boolean {
  return err instanceof ApiError && !TRANSIENT.has(err.code);
}

/**
 * Repeats work while the stores do not answer.
 *
 * @throws StreamEnd `filter` when the work is refused, `unavailable` when it fails for longer than `patienceMs`; the signal's reason
 * when it aborts
 */
export async function withPatience<T>(
  work: () => Promise<T>,
  { patienceMs, signal }: { readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<T> {
  const deadlineMs = performance.now() + patienceMs;
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(waitMs * 2, MAX_MS)) {
    try {
      return await work();
    } catch (err) {
      signal.throwIfAborted();
      if (isRefusal(err)) throw new StreamEnd('filter', { cause: err });
      if (performance.now() + waitMs > deadlineMs) throw new StreamEnd('unavailable', { cause: err });
      await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
