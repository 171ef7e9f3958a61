/**
 * Resolves or rejects as `work` does, or once `limitMs` have passed as `onTimeout` does, which returns a fallback value or throws. `work`
 * is not cancelled; its late outcome is ignored.
 */
export async function withTimeout<T>(work: Promise<T>, limitMs: number, onTimeout: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    // If this process was paused, the answer may already wait in the socket: `setImmediate` lets it be read first.
    timer = setTimeout(() => setImmediate(resolve), Math.max(0, limitMs));
  });
  try {
    return await Promise.race([work, timeout.then(onTimeout)]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves or rejects as `work` does, or rejects with `no answer within … s` once `limitMs` have passed. `work` is not cancelled.
 *
 * @param what begins the message of the error
 */
export function answerWithin<T>(work: Promise<T>, limitMs: number, what?: string): Promise<T> {
  return withTimeout(work, limitMs, () => {
    throw new Error(`${what === undefined ? '' : `${what}: `}no answer within ${limitMs / 1000} s`);
  });
}
