import type { Redis } from 'ioredis';
import { HASH_TAG } from './slot-connector.js';

/** Renews the TTL of a key, which Redis allows even when its memory is full, or creates the key. KEYS the key; ARGV its TTL in ms. */
const WRITE = `
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then redis.call('SET', KEYS[1], '', 'PX', ARGV[1]) end
return 1`;
const KEY_TTL_MS = 24 * 3_600_000;

/** Arguments of `redis.eval` for a write that changes no data: it writes a key that is never read. */
export const PROBE_WRITE = [WRITE, 1, `${HASH_TAG}:probe`, KEY_TTL_MS] as const;

/**
 * Resolves if the server takes writes. PING does not show this: a replica, a node that has lost its cluster and a master without the
 * replicas that `min-replicas-to-write` requires answer it as well.
 *
 * @throws the error of Redis or of the connection
 */
export async function checkWritable(redis: Redis): Promise<void> {
  await redis.eval(...PROBE_WRITE);
}
