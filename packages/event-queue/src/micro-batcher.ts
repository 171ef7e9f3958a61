export interface MicroBatcherOptions<T> {
  /** How long the first item of a batch waits for company. */
  readonly delayMs: number;
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

/** Gathers items into batches by time, rows and bytes. */
export function createMicroBatcher<T>(options: MicroBatcherOptions<T>): MicroBatcher<T> {
  const waiting: Batch<T>[] = [];
  const running = new Set<Promise<void>>();
  let open: Batch<T> | undefined;
  let timer: NodeJS.Timeout | undefined;

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
    if (open !== undefined) waiting.push(open);
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
    const batch: Batch<T> = { items: [], rows: 0, bytes: 0, isDue: false };
    timer = setTimeout(() => {
      batch.isDue = true;
      startWaiting();
    }, options.delayMs);
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
