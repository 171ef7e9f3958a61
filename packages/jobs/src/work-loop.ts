import type { Catalog } from '@waymark/catalog';

/** Options of {@link createWorkLoop}. */
export interface WorkLoopOptions {
  /** Starts the work that is due. Returns the milliseconds until the next poll, unless `wake` is called before. */
  readonly poll: () => Promise<number>;
  /** Called with the error of a poll; the next one follows after `retryMs`. */
  readonly onError: (err: unknown) => void;
  readonly retryMs: number;
  readonly subscribe: Catalog['subscribe'];
  /** The table of the records that the work is about. A change in it wakes the loop. */
  readonly table: string;
}

/** Polls for work, and runs it in the background, until it is closed. */
export interface WorkLoop {
  start(): void;
  /** Polls at once. During a poll it makes the next one follow without a pause. */
  wake(): void;
  /** The work that has not ended, by its key. */
  readonly running: ReadonlyMap<string, Promise<void>>;
  /** Runs work in the background; its end wakes the loop. @param work must not reject */
  run(key: string, work: () => Promise<void>): void;
  /** Aborts when the loop is closed. */
  readonly closing: AbortSignal;
  /** Ends the loop after the current poll, and waits for the work. */
  close(): Promise<void>;
}

/** Creates a loop; `start` starts it. */
export function createWorkLoop({ poll, onError, retryMs, subscribe, table }: WorkLoopOptions): WorkLoop {
  const closing = new AbortController();
  const running = new Map<string, Promise<void>>();
  let isWoken = false;
  let endPause = () => {};
  let polling: Promise<void> | undefined;

  function pause(ms: number): Promise<void> {
    if (isWoken || closing.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function pollUntilClosed(): Promise<void> {
    while (!closing.signal.aborted) {
      isWoken = false;
      const waitMs = await poll().catch((err: unknown) => {
        if (!closing.signal.aborted) onError(err);
        return retryMs;
      });
      if (waitMs > 0) await pause(waitMs);
    }
  }

  function wake(): void {
    isWoken = true;
    endPause();
  }

  subscribe({
    onChange({ records }) {
      if (records.some((one) => one.table === table)) wake();
    },
    onGap() {},
  });

  return {
    wake,
    running,
    closing: closing.signal,
    start() {
      polling ??= pollUntilClosed();
    },
    run(key, work) {
      const ended = work().finally(() => {
        running.delete(key);
        wake();
      });
      running.set(key, ended);
    },
    async close() {
      closing.abort();
      wake();
      await polling;
      await Promise.all(running.values());
    },
  };
}
