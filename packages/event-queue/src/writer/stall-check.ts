import type { QueueKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { jobIdTime } from '../queue/job-id.js';
import { queueKey } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';

/** The progress of a writer with the jobs of one kind. */
export interface KindProgress {
  readonly kind: QueueKind;
  /** When the writer took the oldest job that it holds, epoch milliseconds; undefined if it holds none. */
  oldestHeldMs(): number | undefined;
  /** When the writer last stored a batch, epoch milliseconds. */
  lastStoredMs(): number | undefined;
}

/** Options of {@link checkProgress}. */
export interface ProgressOptions {
  readonly redis: Redis;
  readonly kinds: readonly KindProgress[];
  /** How long jobs may wait while no batch is stored. */
  readonly stuckAfterMs: number;
  /** When the writer started, epoch milliseconds. */
  readonly startedMs: number;
  readonly now: () => number;
}

const ANSWER_WITHIN_MS = 1500;

/** Rejects when jobs of a kind wait, in this writer or in the queue, but no batch of that kind was stored for too long. */
export async function checkProgress({ redis, kinds, stuckAfterMs, startedMs, now }: ProgressOptions): Promise<void> {
  const fail = (kind: QueueKind, since: number) => {
    const seconds = Math.round((now() - since) / 1000);
    throw new Error(`the writer is stuck: ${kind} jobs wait, but none was stored for ${seconds} s`);
  };
  const suspects = kinds.flatMap(({ kind, oldestHeldMs, lastStoredMs }) => {
    const idleSince = Math.max(lastStoredMs() ?? startedMs, startedMs);
    const heldSince = oldestHeldMs();
    if (now() - idleSince <= stuckAfterMs) return [];
    if (heldSince !== undefined && now() - heldSince > stuckAfterMs) fail(kind, Math.max(heldSince, idleSince));
    return [{ kind, idleSince }];
  });
  // While the connection is closed, ioredis keeps the commands, and the checks of a long outage would take much memory.
  if (suspects.length > 0 && redis.status !== 'ready') throw new Error('redis is not connected');
  // The next job to be taken is at the right end of the list.
  const next = suspects.map(({ kind }) => redis.lindex(queueKey(kind, 'wait'), -1));
  const jobIds = await withinMs(Promise.all(next), ANSWER_WITHIN_MS, 'reading the queue');
  suspects.forEach(({ kind, idleSince }, index) => {
    const createdMs = jobIdTime(jobIds[index] ?? '');
    if (createdMs !== undefined && now() - createdMs > stuckAfterMs) fail(kind, Math.max(createdMs, idleSince));
  });
}
