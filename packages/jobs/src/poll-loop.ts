/** Options of {@link createPollLoop}. */
export interface PollLoopOptions {
  /** Does the work that is due. Returns the milliseconds until the next poll, unless `wake` is called before. */
  readonly poll: () => Promise<number>;
  /** Called with the error of a poll; the next one follows after `retryMs`. */
  readonly onError: (err: unknown) => void;
  readonly retryMs: number;
  /** Aborting it ends the loop after the current poll. */
  readonly closing: AbortSignal;
}

/** Polls for work until `closing` is aborted. */
export interface PollLoop {
  start(): void;
  /** Polls at once. During a poll it makes the next one follow without a pause. */
  wake(): void;
  /** Resolves when the loop has ended; abort `closing` before calling it. */
  ended(): Promise<void>;
}

/** Creates a loop; `start` starts it. */
export function createPollLoop({ poll, onError, retryMs, closing }: PollLoopOptions): PollLoop {
  let isWoken = false;
  let endPause = () => {};
  let running: Promise<void> | undefined;

  function pause(ms: number): Promise<void> {
    if (isWoken || closing.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function run(): Promise<void> {
    while (!closing.aborted) {
      isWoken = false;
      const waitMs = await poll().catch((err: unknown) => {
        if (!closing.aborted) onError(err);
        return retryMs;
      });
      if (waitMs > 0) await pause(waitMs);
    }
  }

  function wake(): void {
    isWoken = true;
    endPause();
  }

  return {
    wake,
    start() {
      running ??= run();
    },
    async ended() {
      wake();
      await running;
    },
  };
}
