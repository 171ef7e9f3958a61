/** Work that is repeated until `close`, which waits for a run under way. */
export interface Repetition {
  close(): Promise<void>;
}

/**
 * Runs `work` at once and then at every interval, unless its previous run is still under way. The timer does not keep the
 * process alive.
 *
 * @param work must not reject
 */
export function repeat(work: () => Promise<unknown>, intervalMs: number): Repetition {
  let running: Promise<unknown> | undefined;
  const run = () => {
    running ??= work().finally(() => {
      running = undefined;
    });
  };
  const timer = setInterval(run, intervalMs);
  timer.unref();
  run();
  return {
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
