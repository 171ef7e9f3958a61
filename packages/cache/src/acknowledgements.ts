import type { Holder } from './cache-lease.js';

/** Which processes have acknowledged one invalidation, and which write waits for them. */
interface Announced {
  readonly heardBy: Set<string>;
  /** Callbacks of waiting writes, by lease holder. */
  readonly waiting: Map<string, () => void>;
}

/** Invalidations of this process that other processes have not all acknowledged yet. */
export function createAcknowledgements() {
  const announced = new Map<number, Announced>();
  let last = 0;

  function heard({ heardBy, waiting }: Announced, holder: string, leftMs: number): Promise<void> {
    if (heardBy.has(holder)) return Promise.resolve();
    return new Promise((resolve) => {
      const silent = setTimeout(resolve, leftMs);
      waiting.set(holder, () => {
        clearTimeout(silent);
        resolve();
      });
    });
  }

  return {
    /**
     * Publishes under a new number, and waits until every lease holder has acknowledged it or its lease has expired.
     *
     * @param announce returns the processes to wait for
     */
    async all(announce: (number: number) => Promise<readonly Holder[]>): Promise<void> {
      last += 1;
      const number = last;
      const one: Announced = { heardBy: new Set(), waiting: new Map() };
      announced.set(number, one);
      try {
        const holders = await announce(number);
        await Promise.all(holders.map(({ id, leftMs }) => heard(one, id, leftMs)));
      } finally {
        announced.delete(number);
      }
    },

    /** A lease holder has acknowledged these, perhaps before the publisher has the list of holders. */
    note(holder: string, numbers: readonly number[]): void {
      for (const number of numbers) {
        const one = announced.get(number);
        one?.heardBy.add(holder);
        one?.waiting.get(holder)?.();
      }
    },
  };
}

/** Batches acknowledgements to each publisher: those of one turn of the event loop are one message. */
export function createAcknowledger(send: (announcer: string, numbers: readonly number[]) => void) {
  let due = new Map<string, number[]>();

  function sendAll(): void {
    const sent = due;
    due = new Map();
    for (const [announcer, numbers] of sent) send(announcer, numbers);
  }

  return function acknowledge(announcer: string, number: number): void {
    if (due.size === 0) setImmediate(sendAll);
    const numbers = due.get(announcer);
    if (numbers === undefined) due.set(announcer, [number]);
    else numbers.push(number);
  };
}
