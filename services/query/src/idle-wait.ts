/** Counts running tasks, for others that should rather run between them. */
export interface IdleWait {
  /** Runs a task that others wait for. */
  run<T>(task: () => Promise<T>): Promise<T>;
  /** Resolves when no task runs, or after that time. */
  untilIdle(msMax: number): Promise<void>;
}

export function createIdleWait(): IdleWait {
  let running = 0;
  const waiting = new Set<() => void>();
  return {
    async run(task) {
      running += 1;
      try {
        return await task();
      } finally {
        running -= 1;
        if (running === 0) for (const wake of waiting) wake();
      }
    },
    async untilIdle(msMax) {
      if (running === 0) return;
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(wake, msMax);
        waiting.add(wake);
      });
    },
  };
}
