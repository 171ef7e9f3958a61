export interface LookLoopOptions {
  /** Does what is due. Returns the milliseconds to wait before the next look, unless something wakes the loop. */
  readonly look: () => Promise<number>;
  /** Called with the error of a look; the next one follows after `retryMs`. */
  readonly onError: (err: unknown) => void;
  readonly retryMs: number;
  /** Ends the loop after the look that runs. */
  readonly closing: AbortSignal;
}

/** Looks for work again and again. */
export interface LookLoop {
  start(): void;
  /** The next look follows at once, also when it is asked for during a look. */
  wake(): void;
  /** Resolves when the loop has ended; abort `closing` before. */
  ended(): Promise<void>;
}

export function createLookLoop({ look, onError, retryMs, closing }: LookLoopOptions): LookLoop {
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
      const waitMs = await look().catch((err: unknown) => {
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
