import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type ErrorCode } from '@waymark/contract';

/** Why a stream ends, as in its frame `bye` (docs/reference/stream.md). */
export type ByeReason = 'lifetime' | 'shutdown' | 'key' | 'filter' | 'unavailable';

/** The end of a stream: the reason of the signal that ends it. */
export class StreamEnd extends Error {
  override readonly name = 'StreamEnd';

  constructor(
    readonly reason: ByeReason,
    options?: ErrorOptions,
  ) {
    super(`the stream ends: ${reason}`, options);
  }
}

/** Codes of temporary errors: a later attempt may succeed. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set(['internal_server_error', 'rate_limit_exceeded']);
/** Pauses between two attempts: the first, which doubles each time, and the longest. */
const FIRST_PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;

/** Whether the error refuses the request, and would again: for example, its key or a folder in its filters was removed. */
export function isRefusedForGood(err: unknown): boolean {
  return err instanceof ApiError && !TRANSIENT.has(err.code);
}

/**
 * Runs work, and repeats it while the stores do not answer.
 *
 * @throws StreamEnd `filter` when the work is refused, `unavailable` when it fails for longer than `giveUpAfterMs`; the signal's reason
 * when it aborts
 */
export async function withRetries<T>(
  work: () => Promise<T>,
  { giveUpAfterMs, signal }: { readonly giveUpAfterMs: number; readonly signal: AbortSignal },
): Promise<T> {
  const deadlineMs = performance.now() + giveUpAfterMs;
  for (let waitMs = FIRST_PAUSE_MS; ; waitMs = Math.min(waitMs * 2, PAUSE_MS_MAX)) {
    try {
      return await work();
    } catch (err) {
      signal.throwIfAborted();
      if (isRefusedForGood(err)) throw new StreamEnd('filter', { cause: err });
      if (performance.now() + waitMs > deadlineMs) throw new StreamEnd('unavailable', { cause: err });
      await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
