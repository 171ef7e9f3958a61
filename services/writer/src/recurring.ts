/** Work that a writer does again and again, one run at a time. */
export interface Recurring {
  /** Runs the work, unless a run is under way, and resolves at its end. Never rejects. */
  run(): Promise<void>;
  /** Ends the repetition, and waits for a run that is under way. */
  close(): Promise<void>;
}

export interface RecurringOptions {
  readonly intervalMs: number;
  readonly onError: (err: unknown) => void;
}

/** Repeats `work` at every interval. The timer does not keep the process alive. */
export function startRecurring(work: () => Promise<void>, { intervalMs, onError }: RecurringOptions): Recurring {
  let running: Promise<void> | undefined;
  const run = (): Promise<void> => {
    running ??= work()
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  const timer = setInterval(() => void run(), intervalMs);
  timer.unref();
  return {
    run,
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
