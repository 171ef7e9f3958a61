/** Lets any number of callers wait for the next call of `notify`. */
export interface Notifier {
  notify(): void;
  /** Resolves at the next `notify`, or when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Creates a notifier without waiting callers. */
export function createNotifier(): Notifier {
  const waiting = new Set<() => void>();
  return {
    notify() {
      for (const wake of [...waiting]) wake();
    },
    wait: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const wake = () => {
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      }),
  };
}
