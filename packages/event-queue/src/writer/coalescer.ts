/** Why a batch was closed. */
export type FlushReason = 'rows' | 'bytes' | 'time' | 'all active jobs are here' | 'closing';

export interface CoalescerOptions<T> {
  readonly rowsMax: number;
  readonly bytesMax: number;
  /** How long the first job of a batch waits for more jobs. It waits longer while no further write may begin. */
  readonly delayMs: number;
  /** The worker's limit on active jobs: once the coalescer holds this many, no more arrive until some are completed. */
  readonly jobsMax: number;
  /** Limit on concurrent writes. */
  readonly concurrency: number;
  readonly write: (jobs: readonly T[], reason: FlushReason) => Promise<void>;
}

/** The size of a job, and its version: jobs of different versions never share a batch. */
export interface JobWeight {
  readonly version: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Gathers jobs into batches and has them written. */
export interface Coalescer<T> {
  /** Adds a job to a batch. Resolves when the batch is written, rejects if writing it fails. */
  add(job: T, weight: JobWeight): Promise<void>;
  /** Writes the open batches as soon as writes may begin, and jobs added later without delay. Resolves when no write is in progress. */
  close(): Promise<void>;
}

interface Member<T> {
  readonly job: T;
  resolve(): void;
  reject(err: unknown): void;
}

interface OpenBatch<T> {
  readonly members: Member<T>[];
  readonly timer: NodeJS.Timeout;
  rows: number;
  bytes: number;
  /** If set, the batch is written as soon as a write may begin, for this reason. Until then it takes more jobs. */
  due?: FlushReason;
}

interface ClosedBatch<T> {
  readonly members: readonly Member<T>[];
  readonly reason: FlushReason;
}

/**
 * Gathers the small jobs of producers into batches for large inserts, as ClickHouse needs them. A batch is closed when it is full or when
 * its write begins. While writes are slow, more jobs arrive before the next one begins: a slow ClickHouse gets fewer and larger inserts.
 */
export function createCoalescer<T>(options: CoalescerOptions<T>): Coalescer<T> {
  const open = new Map<number, OpenBatch<T>>();
  const full: ClosedBatch<T>[] = [];
  const running = new Set<Promise<void>>();
  let jobsHeld = 0;
  let isClosing = false;

  const write = async ({ members, reason }: ClosedBatch<T>) => {
    try {
      await options.write(
        members.map(({ job }) => job),
        reason,
      );
      for (const member of members) member.resolve();
    } catch (err) {
      for (const member of members) member.reject(err);
    }
    jobsHeld -= members.length;
  };

  const close = (version: number, { timer, members }: OpenBatch<T>, reason: FlushReason): ClosedBatch<T> => {
    clearTimeout(timer);
    open.delete(version);
    return { members, reason };
  };

  const nextBatch = (): ClosedBatch<T> | undefined => {
    if (full.length > 0) return full.shift();
    for (const [version, batch] of open) if (batch.due !== undefined) return close(version, batch, batch.due);
    return undefined;
  };

  const start = () => {
    while (running.size < options.concurrency) {
      const batch = nextBatch();
      if (batch === undefined) return;
      const writing = write(batch).finally(() => {
        running.delete(writing);
        start();
      });
      running.add(writing);
    }
  };

  const endFull = (version: number, batch: OpenBatch<T>, reason: FlushReason) => {
    full.push(close(version, batch, reason));
    start();
  };

  const setDue = (batch: OpenBatch<T>, reason: FlushReason) => {
    batch.due ??= reason;
    start();
  };

  const setAllDue = (reason: FlushReason) => {
    for (const batch of [...open.values()]) setDue(batch, reason);
  };

  const openBatch = (version: number): OpenBatch<T> => {
    const timer = setTimeout(() => setDue(batch, 'time'), options.delayMs);
    const batch: OpenBatch<T> = { members: [], timer, rows: 0, bytes: 0 };
    open.set(version, batch);
    return batch;
  };

  return {
    add(job, { version, rows, bytes }) {
      const before = open.get(version);
      if (before !== undefined && before.rows + rows > options.rowsMax) endFull(version, before, 'rows');
      else if (before !== undefined && before.bytes + bytes > options.bytesMax) endFull(version, before, 'bytes');
      const batch = open.get(version) ?? openBatch(version);
      batch.rows += rows;
      batch.bytes += bytes;
      jobsHeld += 1;
      const written = new Promise<void>((resolve, reject) => batch.members.push({ job, resolve, reject }));
      if (isClosing) setDue(batch, 'closing');
      else if (batch.rows >= options.rowsMax) endFull(version, batch, 'rows');
      else if (batch.bytes >= options.bytesMax) endFull(version, batch, 'bytes');
      else if (jobsHeld >= options.jobsMax) setAllDue('all active jobs are here');
      return written;
    },

    async close() {
      isClosing = true;
      setAllDue('closing');
      while (running.size > 0) await Promise.all(running);
    },
  };
}
