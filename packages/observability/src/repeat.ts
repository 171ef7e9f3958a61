/** Work that is repeated until `close`. */
export interface Repetition {
  /**
   * Call it when the result of the work is read. For the next two minutes, the work runs at `intervalMs`; it runs now if its last run is
   * longer ago than that.
   */
  use(): void;
  /** Ends the repetition, and waits for a run that has begun. */
  close(): Promise<void>;
}

export interface RepeatOptions {
  readonly intervalMs: number;
  /** Interval while the results are not in use (see `use`); `intervalMs` by default. */
  readonly restIntervalMs?: number;
}

/** How long results count as read after `use`: longer than a minute, which is a usual interval between scrapes. */
const USED_MS = 120_000;

/**
 * Runs `work` at once and then at every interval, unless its previous run is still under way. The timer does not keep the
 * process alive.
 *
 * @param work must not reject
 */
export function repeat(work: () => Promise<unknown>, options: RepeatOptions): Repetition {
  const { intervalMs, restIntervalMs = intervalMs } = options;
  let running: Promise<unknown> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let usedMs = performance.now();
  let ranMs = Number.NEGATIVE_INFINITY;

  function run(): void {
    clearTimeout(timer);
    if (isClosed) return;
    const nowMs = performance.now();
    timer = setTimeout(run, nowMs - usedMs < USED_MS ? intervalMs : restIntervalMs).unref();
    if (running !== undefined) return;
    ranMs = nowMs;
    running = work().finally(() => {
      running = undefined;
    });
  }
  run();

  return {
    use() {
      usedMs = performance.now();
      if (usedMs - ranMs > intervalMs) run();
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
