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
