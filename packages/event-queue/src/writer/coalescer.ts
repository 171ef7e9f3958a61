/** Why a group was closed. */
export type FlushReason = 'rows' | 'bytes' | 'time' | 'all jobs are here' | 'closing';

export interface CoalescerOptions<T> {
  readonly rowsMax: number;
  readonly bytesMax: number;
  /** How long the first job of a group waits for company. */
  readonly delayMs: number;
  /** As many jobs as can arrive before some are completed: when all of them wait here, none will follow. */
  readonly jobsMax: number;
  /** Groups being written at once. */
  readonly concurrency: number;
  readonly write: (jobs: readonly T[], reason: FlushReason) => Promise<void>;
}

/** What a job weighs; jobs of different versions never share a group. */
export interface JobWeight {
  readonly version: number;
  readonly rows: number;
  readonly bytes: number;
}

export interface Coalescer<T> {
  /** Resolves when the group that the job went into is written, rejects when that could not be done. */
  add(job: T, weight: JobWeight): Promise<void>;
  /** Writes what waits, without waiting for more from then on. Resolves when nothing is left. */
  close(): Promise<void>;
}

interface Member<T> {
  readonly job: T;
  resolve(): void;
  reject(err: unknown): void;
}

interface OpenGroup<T> {
  readonly members: Member<T>[];
  readonly timer: NodeJS.Timeout;
  rows: number;
  bytes: number;
}

interface ClosedGroup<T> {
  readonly members: readonly Member<T>[];
  readonly reason: FlushReason;
}

/** Gathers the small jobs of producers into the large inserts that ClickHouse wants. */
export function createCoalescer<T>(options: CoalescerOptions<T>): Coalescer<T> {
  const open = new Map<number, OpenGroup<T>>();
  const waiting: ClosedGroup<T>[] = [];
  const running = new Set<Promise<void>>();
  let jobsHeld = 0;
  let isClosing = false;

  const write = async ({ members, reason }: ClosedGroup<T>) => {
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

  const start = () => {
    while (running.size < options.concurrency) {
      const group = waiting.shift();
      if (group === undefined) return;
      const writing = write(group).finally(() => {
        running.delete(writing);
        start();
      });
      running.add(writing);
    }
  };

  const flush = (version: number, reason: FlushReason) => {
    const group = open.get(version);
    if (group === undefined) return;
    clearTimeout(group.timer);
    open.delete(version);
    waiting.push({ members: group.members, reason });
    start();
  };

  const flushAll = (reason: FlushReason) => {
    for (const version of [...open.keys()]) flush(version, reason);
  };

  const openGroup = (version: number): OpenGroup<T> => {
    const timer = setTimeout(() => flush(version, 'time'), options.delayMs);
    const group = { members: [], timer, rows: 0, bytes: 0 };
    open.set(version, group);
    return group;
  };

  return {
    add(job, { version, rows, bytes }) {
      const before = open.get(version);
      if (before !== undefined && before.rows + rows > options.rowsMax) flush(version, 'rows');
      else if (before !== undefined && before.bytes + bytes > options.bytesMax) flush(version, 'bytes');
      const group = open.get(version) ?? openGroup(version);
      group.rows += rows;
      group.bytes += bytes;
      jobsHeld += 1;
      const written = new Promise<void>((resolve, reject) => group.members.push({ job, resolve, reject }));
      if (isClosing) flushAll('closing');
      else if (group.rows >= options.rowsMax) flush(version, 'rows');
      else if (group.bytes >= options.bytesMax) flush(version, 'bytes');
      else if (jobsHeld >= options.jobsMax) flushAll('all jobs are here');
      return written;
    },

    async close() {
      isClosing = true;
      flushAll('closing');
      while (running.size > 0) await Promise.all(running);
    },
  };
}
