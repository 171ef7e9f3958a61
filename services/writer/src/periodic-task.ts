/** Work that a writer does at an interval, one run at a time. */
export interface PeriodicTask {
  /** Runs the work, unless a run is under way, and resolves at its end. Never rejects. */
  run(): Promise<void>;
  /** Stops the task, and waits for a run that is under way. */
  close(): Promise<void>;
}

export interface PeriodicTaskOptions {
  readonly intervalMs: number;
  readonly onError: (err: unknown) => void;
}

/** Repeats `work` at every interval. The timer does not keep the process alive. */
export function startPeriodicTask(
  work: () => Promise<void>,
  { intervalMs, onError }: PeriodicTaskOptions,
): PeriodicTask {
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
