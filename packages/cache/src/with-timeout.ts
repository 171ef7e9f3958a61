/**
 * The outcome of `work`, or that of `onTimeout` (a fallback value, or an error that it throws) once `limitMs` have passed. `work` is
 * not cancelled; its late outcome is ignored.
 */
export async function withTimeout<T>(work: Promise<T>, limitMs: number, onTimeout: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    // After a pause of this process the answer may be waiting in the socket: it is read before the timeout counts.
    timer = setTimeout(() => setImmediate(resolve), Math.max(0, limitMs));
  });
  try {
    return await Promise.race([work, timeout.then(onTimeout)]);
  } finally {
    clearTimeout(timer);
  }
}
