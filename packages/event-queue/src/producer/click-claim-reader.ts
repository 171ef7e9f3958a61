import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';

/**
 * Reads the hourly claims of clicks without taking them: for each claim the id of the click recorded under it within the hour, if any. Rejects
 * when Redis does not answer in time.
 */
export type ReadClickClaims = (claims: readonly string[], milliseconds: number) => Promise<(string | undefined)[]>;

/** Reads claims on the producer's connection. */
export function createClickClaimReader(redis: Redis, replication: Replication): ReadClickClaims {
  return (claims, milliseconds) => {
    const read = async () => (await redis.mget(...claims.map(claimKey))).map((clickId) => clickId ?? undefined);
    const isCounted = (ids: readonly (string | undefined)[]) => ids.some((id) => id !== undefined);
    return withinMs(replication.confirmed(read, isCounted), milliseconds, 'reading click claims');
  };
}
