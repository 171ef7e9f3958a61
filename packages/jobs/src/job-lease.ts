import { randomUUID } from 'node:crypto';
import { deleteIfEqual, keyPrefix } from '@waymark/redis';
import type { Redis } from 'ioredis';

/** How long a job counts as running after the last renewal of its lease. */
export const LEASE_MS = 5_000;
const RENEW_EVERY_MS = 1_000;

const RENEW = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;

/** The right to run a job, which one process at a time has. It is renewed every second until it is released. */
export interface JobLease {
  /** Aborts when the lease was lost or could not be renewed in time. */
  readonly lost: AbortSignal;
  /** Stops renewing the lease and gives it back. Never rejects. */
  release(): Promise<void>;
}

/**
 * Takes a lease.
 *
 * @param name such as `export-job:<id>`
 * @returns undefined when another process has the lease
 * @throws the error of Redis or the connection
 */
export async function takeLease(redis: Redis, name: string): Promise<JobLease | undefined> {
  const key = `${keyPrefix(redis)}waymark:${name}`;
  const owner = randomUUID();
  if ((await redis.set(key, owner, 'PX', LEASE_MS, 'NX')) !== 'OK') return undefined;
  const lost = new AbortController();
  let heldUntilMs = performance.now() + LEASE_MS;
  const renew = async () => {
    const askedMs = performance.now();
    const renewed = await redis.eval(RENEW, 1, key, owner, LEASE_MS).catch(() => undefined);
    if (renewed === 1) heldUntilMs = askedMs + LEASE_MS;
    if (renewed === 0 || performance.now() > heldUntilMs) lost.abort();
  };
  const renewing = setInterval(() => void renew(), RENEW_EVERY_MS).unref();
  return {
    lost: lost.signal,
    async release() {
      clearInterval(renewing);
      // A lease that cannot be released expires.
      await deleteIfEqual(redis, key, owner).catch(() => undefined);
    },
  };
}
