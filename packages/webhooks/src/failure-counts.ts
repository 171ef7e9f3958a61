import { stateKey } from '@waymark/event-queue';
import type { Redis } from 'ioredis';

/** Counts failed attempts in a row, for all writers together. */
export interface FailureCounts {
  /** @returns how many there are with this one */
  add(webhookId: string): Promise<number>;
  reset(webhookId: string): Promise<void>;
}

/** A webhook that is not delivered to for so long starts anew. */
const KEPT_MS = 30 * 24 * 3_600_000;

export function createFailureCounts(redis: Redis): FailureCounts {
  const keyOf = (webhookId: string) => stateKey(`webhook-failures:${webhookId}`);
  return {
    async add(webhookId) {
      const key = keyOf(webhookId);
      const results = await redis.multi().incr(key).pexpire(key, KEPT_MS).exec();
      return Number(results?.[0]?.[1] ?? 0);
    },
    async reset(webhookId) {
      await redis.del(keyOf(webhookId));
    },
  };
}
