import type { Redis } from 'ioredis';
import { oldestQueuedMs } from '../queue/oldest-job.js';
import { pause } from '../redis/deadline.js';
import { memoryOf } from '../redis/info.js';
import { watchServerIdentity } from '../redis/server-identity.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { createClaimHistory, type Filling } from './claim-history.js';
import type { HistorySubject } from './history-keys.js';
import { hasOtherProcesses } from './keepers.js';

/** What ClickHouse has of a workspace, as the names of claims. */
export interface HistorySource {
  /** An upper bound of the number of claims, to choose the size by. */
  count(workspaceId: string): Promise<number>;
  /** Every claim at least once, in batches of a bounded size. Rows that are written after the call may be missing. */
  read(workspaceId: string): AsyncIterable<readonly string[]>;
}

export interface HistoryKeeperOptions {
  /** Must have a command time-out. */
  readonly redis: Redis;
  readonly sources: Readonly<Record<HistorySubject, HistorySource>>;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** See {@link GRACE_MS}. */
  readonly graceMs?: number;
  /** How often a filler that waits looks whether it may go on; must be well below the time of its lease. */
  readonly pollMs?: number;
}

/** Fills the histories of workspaces that need one, in the background. */
export interface HistoryKeeper {
  /** Call it when a history did not answer. Looks at most every ten seconds what is to be done. */
  note(subject: HistorySubject, workspaceId: string): void;
  /** Resolves when what was begun has ended. */
  close(): Promise<void>;
}

/**
 * How long a filler waits after it has created a history before it reads ClickHouse. The catalog sets a customer's name in the history
 * and then inserts its row: within the 30 s that it holds the lock of the name (packages/catalog/src/redis/locks.ts). A name that was
 * not set, because the history did not exist yet, is therefore in ClickHouse after that time, or never.
 */
export const GRACE_MS = 60_000;
/**
 * Rows of commits that were carried out before the history existed are in the queue. Jobs carry the time of their producer's clock,
 * which may be ahead by this much: see the manifest.
 */
const CLOCK_SKEW_MS = 5 * 60_000;
const POLL_MS = 1000;
const CHECK_INTERVAL_MS = 10_000;
/** With so many bits a claim, four of which it sets, one in eighty unseen claims looks seen. Sized for twice what is there. */
const BITS_PER_CLAIM = 10;
/** 16 kB: 23,000 claims before it is made anew. A smaller one would be made anew within the first busy hour. */
const BITS_MIN = 2 ** 17;
/** 64 MB: 27 million claims when it is made. Larger histories are not kept. */
const BITS_MAX = 2 ** 29;
/** Fuller histories are made anew: one in sixteen unseen claims looks seen. */
const FULLNESS_MAX = 0.5;
/** While a history is made anew, which takes minutes, ClickHouse is asked; so not too often. */
const GROWTH = 4;
/** The share of Redis' memory above which caches are not filled either. */
const MEMORY_SHARE_MAX = 0.6;
const WORKSPACES_MAX = 10_000;

const KINDS = { customers: 'customer', sales: 'sale' } as const;

function sizeFor(claims: number): number {
  const wanted = Math.max(BITS_MIN, claims * 2 * BITS_PER_CLAIM);
  return 2 ** Math.ceil(Math.log2(wanted));
}

export function createHistoryKeeper(options: HistoryKeeperOptions): HistoryKeeper {
  const { redis, sources, logger, now, graceMs = GRACE_MS, pollMs = POLL_MS } = options;
  const server = watchServerIdentity(redis);
  const closing = new AbortController();
  const checkedAt = new Map<string, number>();
  const running = new Map<string, Promise<void>>();

  async function fits(bits: number): Promise<boolean> {
    const { usedBytes, limitBytes } = memoryOf(await redis.info('memory'));
    return bits <= BITS_MAX && (limitBytes === 0 || usedBytes + bits / 8 <= limitBytes * MEMORY_SHARE_MAX);
  }

  /** Waits until ClickHouse has every row that was on its way when the history was created. @returns false when the lease is lost */
  async function waitForEarlierRows(subject: HistorySubject, filling: Filling): Promise<boolean> {
    const readAt = now() + graceMs;
    while (!closing.signal.aborted) {
      if (!(await filling.add([]))) return false;
      const oldestMs = await oldestQueuedMs(redis, KINDS[subject]);
      const isWritten = oldestMs === undefined || oldestMs > filling.begunAt + CLOCK_SKEW_MS;
      if (now() >= readAt && isWritten) return true;
      await pause(pollMs, closing.signal);
    }
    return false;
  }

  async function fill(subject: HistorySubject, workspaceId: string, filling: Filling): Promise<boolean> {
    if (!(await waitForEarlierRows(subject, filling))) return false;
    for await (const claims of sources[subject].read(workspaceId)) {
      if (closing.signal.aborted || !(await filling.add(claims))) return false;
    }
    // Checked once more: a process that started meanwhile and ended again is in the number of starts, which `complete` compares.
    return !(await hasOtherProcesses(redis)) && (await filling.complete());
  }

  async function check(subject: HistorySubject, workspaceId: string): Promise<void> {
    const history = createClaimHistory(redis, server, subject, workspaceId);
    const { state, bits } = await history.state();
    if (state === 'filling') return;
    if (state === 'trusted' && (await history.fullness(bits)) < FULLNESS_MAX) return;
    if (await hasOtherProcesses(redis)) return;
    const size = Math.max(sizeFor(await sources[subject].count(workspaceId)), state === 'trusted' ? bits * GROWTH : 0);
    if (!(await fits(size))) return;
    const filling = await history.begin(size);
    if (filling === undefined) return;
    const startedAt = now();
    const isComplete = await fill(subject, workspaceId, filling).finally(() => filling.stop().catch(() => undefined));
    if (isComplete)
      logger.info({ subject, workspaceId, bits: size, ms: now() - startedAt }, 'a claim history is complete');
  }

  return {
    note(subject, workspaceId) {
      const id = `${subject}/${workspaceId}`;
      const lastMs = checkedAt.get(id);
      if (closing.signal.aborted || running.has(id) || (lastMs !== undefined && now() < lastMs + CHECK_INTERVAL_MS))
        return;
      if (checkedAt.size >= WORKSPACES_MAX) checkedAt.clear();
      checkedAt.set(id, now());
      const work = check(subject, workspaceId)
        .catch((err: unknown) => logger.warn({ err, subject, workspaceId }, 'a claim history could not be filled'))
        .finally(() => running.delete(id));
      running.set(id, work);
    },

    async close() {
      closing.abort();
      await Promise.allSettled(running.values());
    },
  };
}
