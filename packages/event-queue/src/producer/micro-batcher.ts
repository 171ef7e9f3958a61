export interface MicroBatcherOptions<T> {
  /** How long the first item of a batch waits for more, while batches are large (see `loneRowsMax`). */
  readonly delayMs: number;
  /** After a batch with at most this many rows the next one is sent without delay. */
  readonly loneRowsMax: number;
  readonly rowsMax: number;
  readonly bytesMax: number;
  /** Limit on batches being sent; further ones wait, and the open one grows up to its own limits. */
  readonly inFlightMax: number;
  /** Sends a batch. Must not reject: errors are reported through the items. */
  readonly flush: (items: readonly T[]) => Promise<void>;
}

/** Gathers items into batches. */
export interface MicroBatcher<T> {
  /** Adds an item to the open batch. @param bytes approximate size of its rows */
  add(item: T, rows: number, bytes: number): void;
  /** Sends the waiting items and resolves when every batch has been sent. No item may be added after this. */
  close(): Promise<void>;
}

interface Batch<T> {
  readonly items: T[];
  rows: number;
  bytes: number;
  isDue: boolean;
}

/**
 * Creates a batcher, which limits batches by time, rows and bytes. While batches are small, waiting for more items gains nothing: a batch is
 * then sent at the end of the current turn of the event loop, or as soon as a batch in flight is done.
 */
export function createMicroBatcher<T>(options: MicroBatcherOptions<T>): MicroBatcher<T> {
  const waiting: Batch<T>[] = [];
  const running = new Set<Promise<void>>();
  let open: Batch<T> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let rowsBefore = 0;

  const start = (batch: Batch<T>) => {
    const sending = options.flush(batch.items).finally(() => {
      running.delete(sending);
      startWaiting();
    });
    running.add(sending);
  };

  const closeOpen = () => {
    clearTimeout(timer);
    timer = undefined;
    if (open === undefined) return;
    rowsBefore = open.rows;
    waiting.push(open);
    open = undefined;
  };

  function startWaiting(): void {
    if (waiting.length === 0 && open?.isDue === true && running.size < options.inFlightMax) closeOpen();
    while (running.size < options.inFlightMax) {
      const batch = waiting.shift();
      if (batch === undefined) return;
      start(batch);
    }
  }

  const openBatch = (): Batch<T> => {
    const batch: Batch<T> = { items: [], rows: 0, bytes: 0, isDue: rowsBefore <= options.loneRowsMax };
    if (!batch.isDue) {
      timer = setTimeout(() => {
        batch.isDue = true;
        startWaiting();
      }, options.delayMs);
    } else if (running.size === 0) {
      setImmediate(startWaiting);
    }
    return batch;
  };

  return {
    add(item, rows, bytes) {
      if (open !== undefined && (open.rows + rows > options.rowsMax || open.bytes + bytes > options.bytesMax)) {
        closeOpen();
        startWaiting();
      }
      open ??= openBatch();
      open.items.push(item);
      open.rows += rows;
      open.bytes += bytes;
      if (open.rows >= options.rowsMax || open.bytes >= options.bytesMax) {
        closeOpen();
        startWaiting();
      }
    },

    async close() {
      closeOpen();
      startWaiting();
      while (running.size > 0 || waiting.length > 0) await Promise.allSettled(running);
    },
  };
}
