/** Counts what runs, for work that should rather be done in between. */
export interface IdleWait {
  /** @returns marks the end; may be called more than once */
  begin(): () => void;
  /** Resolves when nothing runs, or after that time. */
  untilIdle(msMax: number): Promise<void>;
}

export function createIdleWait(): IdleWait {
  const running = new Set<symbol>();
  const waiting = new Set<() => void>();
  return {
    begin() {
      const one = Symbol('running');
      running.add(one);
      return () => {
        if (!running.delete(one) || running.size > 0) return;
        for (const wake of waiting) wake();
      };
    },
    async untilIdle(msMax) {
      if (running.size === 0) return;
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
