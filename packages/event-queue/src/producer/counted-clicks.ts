import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';

/** Reads the hourly claims of clicks without taking them. */
export interface CountedClicks {
  /** The id of the click recorded under each claim within the hour. Rejects when Redis does not respond in time. */
  read(claims: readonly string[], milliseconds: number): Promise<(string | undefined)[]>;
}

/** Reads claims on the producer's connection. */
export function createCountedClicks(redis: Redis): CountedClicks {
  return {
    async read(claims, milliseconds) {
      const held = await withinMs(redis.mget(...claims.map(claimKey)), milliseconds, 'reading click claims');
      return held.map((clickId) => clickId ?? undefined);
    },
  };
}
