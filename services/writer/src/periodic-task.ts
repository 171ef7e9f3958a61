/** Work that a writer does at an interval, one run at a time. */
export interface PeriodicTask {
  /** Runs the work, unless a run is under way, and resolves at its end. Never rejects. */
  run(): Promise<void>;
  /** Stops the task: aborts the signal of a run that is under way, and waits for its end. */
  close(): Promise<void>;
}

export interface PeriodicTaskOptions {
  readonly intervalMs: number;
  /** Called with the error of a run, and the signal that it had. */
  readonly onError: (err: unknown, closing: AbortSignal) => void;
}

/** Repeats `work` at every interval. The timer does not keep the process alive. @param work gets a signal that is aborted at the close */
export function startPeriodicTask(
  work: (closing: AbortSignal) => Promise<void>,
  { intervalMs, onError }: PeriodicTaskOptions,
): PeriodicTask {
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  const run = (): Promise<void> => {
    running ??= work(closing.signal)
      .catch((err: unknown) => onError(err, closing.signal))
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
      closing.abort();
      clearInterval(timer);
      await running;
    },
  };
}
