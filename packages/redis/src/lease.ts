import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { keyPrefix } from './connect.js';
import { deleteIfEqual } from './delete-if-equal.js';

/** How long a process that has ended, or does not reach Redis, still has its lease. */
export const LEASE_MS = 5_000;
const RENEW_EVERY_MS = 1_000;

const RENEW = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;

/** The right to do some work, which one process at a time has. It is renewed every second until the work has ended. */
export interface Lease {
  /**
   * Does the work, and then gives the lease back, also after an error.
   *
   * @param work called with a signal that aborts when the lease was lost or could not be renewed in time
   */
  during<T>(work: (lost: AbortSignal) => Promise<T>): Promise<T>;
}

/**
 * Takes a lease.
 *
 * @param name such as `export-job:<id>`
 * @returns undefined when another process has the lease
 * @throws the error of Redis or the connection
 */
export async function takeLease(redis: Redis, name: string): Promise<Lease | undefined> {
  const key = `${keyPrefix(redis)}waymark:${name}`;
  const owner = randomUUID();
  const lost = new AbortController();
  /** Aborts `lost` unless it is cleared before the lease expires. @param sentMs when the command that took or renewed it was sent */
  const expire = (sentMs: number) =>
    setTimeout(() => lost.abort(), Math.max(0, sentMs + LEASE_MS - performance.now())).unref();
  const takenMs = performance.now();
  if ((await redis.set(key, owner, 'PX', LEASE_MS, 'NX')) !== 'OK') return undefined;
  let expiry = expire(takenMs);
  const renew = async () => {
    const renewedMs = performance.now();
    const renewed = await redis.eval(RENEW, 1, key, owner, LEASE_MS).catch(() => undefined);
    if (renewed === 0) lost.abort();
    if (renewed !== 1) return;
    clearTimeout(expiry);
    expiry = expire(renewedMs);
  };
  const renewing = setInterval(() => void renew(), RENEW_EVERY_MS).unref();
  async function release(): Promise<void> {
    clearInterval(renewing);
    clearTimeout(expiry);
    // A lease that cannot be released expires.
    await deleteIfEqual(redis, key, owner).catch(() => undefined);
  }
  return { during: (work) => work(lost.signal).finally(release) };
}
