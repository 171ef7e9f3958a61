/** Lets any number of callers wait for the next call of `wakeAll`. */
export interface WakeUps {
  wakeAll(): void;
  /** Resolves at the next `wakeAll`, or when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Creates wake-ups for which no caller waits yet. */
export function createWakeUps(): WakeUps {
  const waiting = new Set<() => void>();
  return {
    wakeAll() {
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
