import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUInt32 } from '@waymark/contract';
import type { RedisConnections } from './redis-connections.js';
import { unavailable } from './unavailable.js';

/**
 * Longer than everything that is done under a lock can take: the checks, then inserts that start at most
 * {@link LOCK_WORK_MS} after it was taken and run for at most their `max_execution_time`.
 */
const LOCK_MS = 30_000;
const LOCK_WORK_MS = 15_000;
const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 10;

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

export interface Lock {
  /** Inserts of the holder must have been sent by then. */
  readonly workUntilMs: number;
  /** Frees the names at once. Not after an insert whose outcome is unknown: it may land later, so the lock must expire. */
  release(): Promise<void>;
}

interface LockOptions {
  /** Called while another holds one of the names; throwing ends the wait. */
  readonly whileBusy?: () => Promise<unknown>;
}

export interface Locks {
  take(names: readonly string[], options?: LockOptions): Promise<Lock>;
}

const lockKey = (name: string) => `waymark:lock:${name}`;

/** Short exclusive holds on names, shared by every process through Redis. */
export function createLocks(redis: RedisConnections, now: () => number): Locks {
  async function release(names: readonly string[], owner: string): Promise<void> {
    if (names.length === 0) return;
    // A lock that cannot be freed expires.
    await redis
      .insist((client) => Promise.all(names.map((name) => client.eval(RELEASE, 1, lockKey(name), owner))))
      .catch(() => undefined);
  }

  async function waitFor(name: string, owner: string, untilMs: number, options: LockOptions): Promise<void> {
    while (true) {
      const answer = await redis.insist((client) => client.set(lockKey(name), owner, 'PX', LOCK_MS, 'NX'));
      if (answer === 'OK') return;
      await options.whileBusy?.();
      if (now() > untilMs) throw unavailable(`lock on ${name}`);
      await delay(PAUSE_MS + (randomUInt32() % PAUSE_MS));
    }
  }

  return {
    async take(names, options = {}) {
      const owner = randomUUID();
      // One order for everybody: two who want the same names never wait for each other.
      const sorted = [...new Set(names)].sort();
      const startedMs = now();
      try {
        for (const name of sorted) await waitFor(name, owner, startedMs + WAIT_MS_MAX, options);
      } catch (err) {
        await release(sorted, owner);
        throw err;
      }
      return { workUntilMs: startedMs + LOCK_WORK_MS, release: () => release(sorted, owner) };
    },
  };
}
