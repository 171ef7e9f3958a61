import type { QueueKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { jobIdTime } from '../queue/job-id.js';
import { queueKey } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';

/** What a writer does with the jobs of one kind. */
export interface KindProgress {
  readonly kind: QueueKind;
  /** When it got the job that it has held longest, epoch milliseconds; undefined when it holds none. */
  oldestHeldAt(): number | undefined;
  /** When it last stored a group of them. */
  lastStoredAt(): number | undefined;
}

export interface ProgressOptions {
  readonly redis: Redis;
  readonly kinds: readonly KindProgress[];
  /** How long jobs may wait while none is stored. */
  readonly stuckAfterMs: number;
  readonly startedAt: number;
  readonly now: () => number;
}

const ANSWER_WITHIN_MS = 1500;

/** Rejects when jobs wait, here or in the queue, and for long none of their kind was stored, whatever the reason. */
export async function checkProgress({ redis, kinds, stuckAfterMs, startedAt, now }: ProgressOptions): Promise<void> {
  const refuse = (kind: QueueKind, since: number) => {
    const seconds = Math.round((now() - since) / 1000);
    throw new Error(`the writer is stuck: ${kind} jobs wait, and for ${seconds} s none was stored`);
  };
  const suspects = kinds.flatMap(({ kind, oldestHeldAt, lastStoredAt }) => {
    const idleSince = Math.max(lastStoredAt() ?? startedAt, startedAt);
    const heldSince = oldestHeldAt();
    if (now() - idleSince <= stuckAfterMs) return [];
    if (heldSince !== undefined && now() - heldSince > stuckAfterMs) refuse(kind, Math.max(heldSince, idleSince));
    return [{ kind, idleSince }];
  });
  // The job that is taken next stands at the right end.
  const next = suspects.map(({ kind }) => redis.lindex(queueKey(kind, 'wait'), -1));
  const jobIds = await withinMs(Promise.all(next), ANSWER_WITHIN_MS, 'looking at the queue');
  suspects.forEach(({ kind, idleSince }, index) => {
    const madeAt = jobIdTime(jobIds[index] ?? '');
    if (madeAt !== undefined && now() - madeAt > stuckAfterMs) refuse(kind, Math.max(madeAt, idleSince));
  });
}
