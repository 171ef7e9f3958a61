import type { Holder } from './cache-lease.js';

/** An invalidation that some processes have not acknowledged yet. */
interface PendingInvalidation {
  readonly acknowledgedBy: Set<string>;
  /** Callbacks that end the wait for a lease holder, by its id. */
  readonly waiting: Map<string, () => void>;
}

/** Tracks which lease holders have acknowledged the invalidations that this process has published (docs/reference/consistency.md). */
export function createAcknowledgements() {
  const pending = new Map<number, PendingInvalidation>();
  let last = 0;

  /** Resolves once the holder has acknowledged the invalidation, or after `leftMs`, when its lease has expired. */
  function acknowledgement(
    { acknowledgedBy, waiting }: PendingInvalidation,
    holder: string,
    leftMs: number,
  ): Promise<void> {
    if (acknowledgedBy.has(holder)) return Promise.resolve();
    return new Promise((resolve) => {
      const leaseEnd = setTimeout(resolve, leftMs);
      waiting.set(holder, () => {
        clearTimeout(leaseEnd);
        resolve();
      });
    });
  }

  return {
    /**
     * Publishes an invalidation under a new number. Resolves when every lease holder has acknowledged it or its lease has expired.
     *
     * @param send publishes the invalidation under the given number; resolves with the lease holders to wait for
     * @throws the error of `send`
     */
    async publish(send: (number: number) => Promise<readonly Holder[]>): Promise<void> {
      last += 1;
      const number = last;
      const invalidation: PendingInvalidation = { acknowledgedBy: new Set(), waiting: new Map() };
      pending.set(number, invalidation);
      try {
        const holders = await send(number);
        await Promise.all(holders.map(({ id, leftMs }) => acknowledgement(invalidation, id, leftMs)));
      } finally {
        pending.delete(number);
      }
    },

    /** Records acknowledgements of one lease holder. They may arrive before `send` has resolved with the list of holders. */
    received(holder: string, numbers: readonly number[]): void {
      for (const number of numbers) {
        const invalidation = pending.get(number);
        invalidation?.acknowledgedBy.add(holder);
        invalidation?.waiting.get(holder)?.();
      }
    },
  };
}

/**
 * Creates the function that acknowledges an invalidation of another process. Acknowledgements to the same publisher within one turn of the
 * event loop are sent as one message.
 */
export function createAcknowledger(send: (publisher: string, numbers: readonly number[]) => void) {
  let due = new Map<string, number[]>();

  function sendAll(): void {
    const sent = due;
    due = new Map();
    for (const [publisher, numbers] of sent) send(publisher, numbers);
  }

  return function acknowledge(publisher: string, number: number): void {
    if (due.size === 0) setImmediate(sendAll);
    const numbers = due.get(publisher);
    if (numbers === undefined) due.set(publisher, [number]);
    else numbers.push(number);
  };
}
