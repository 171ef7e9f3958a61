/** Redis did not answer in time. What was asked of it may still happen. */
export class DeadlineError extends Error {
  constructor(what: string, milliseconds: number) {
    super(`${what}: no answer within ${Math.round(milliseconds)} ms`);
    this.name = 'DeadlineError';
  }
}

/** The outcome of `work`, or a {@link DeadlineError} after so many milliseconds. A late outcome is dropped. */
export async function withinMs<T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      // After a pause of this process the answer may be waiting in the socket: it is read before the deadline is believed.
      () => setImmediate(() => reject(new DeadlineError(what, milliseconds))),
      Math.max(0, milliseconds),
    );
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** A pause that ends early, without an error, when `signal` is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal?.addEventListener('abort', finish);
  });
}

/** Delay before retry number `attempt` (from 0): doubles up to `maxMs`, with jitter so that many do not come together. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20));
  return full / 2 + (Math.random() * full) / 2;
}
