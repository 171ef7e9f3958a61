export interface MicroBatcherOptions<T> {
  /** How long the first item of a batch waits for company, when the batch before had some. */
  readonly delayMs: number;
  /** A batch with more rows than this had company. */
  readonly loneRowsMax: number;
  readonly rowsMax: number;
  readonly bytesMax: number;
  /** Batches under way at once; the others wait, and the open one goes on growing up to its limits. */
  readonly inFlightMax: number;
  /** Sends a batch. What it throws is a bug: items answer for themselves. */
  readonly flush: (items: readonly T[]) => Promise<void>;
}

export interface MicroBatcher<T> {
  add(item: T, rows: number, bytes: number): void;
  /** Sends what is waiting and resolves when every batch has been dealt with. Nothing may be added after. */
  close(): Promise<void>;
}

interface Batch<T> {
  readonly items: T[];
  rows: number;
  bytes: number;
  isDue: boolean;
}

/**
 * Gathers items into batches by time, rows and bytes. While little comes nothing is worth waiting for: an item then goes at
 * the end of the event loop's turn, or when the batch under way has ended.
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
