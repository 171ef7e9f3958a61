import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUInt32 } from '@waymark/contract';
import { deleteIfEqual } from '@waymark/redis';
import { LockedError } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

/**
 * Longer than the work under a lock can take: the checks, then inserts that start at most {@link LOCK_WORK_MS} after the lock was
 * taken and run for at most their `max_execution_time`.
 */
const LOCK_MS = 30_000;
const LOCK_WORK_MS = 15_000;
const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 10;

export interface Lock {
  /** Inserts under the lock must be sent before this time. */
  readonly workUntilMs: number;
  /** Releases the lock. Do not call it after an insert whose outcome is unknown: the insert may still run, so the lock must expire. */
  release(): Promise<void>;
}

export interface LockOptions {
  /** Called while another request has the lock of one of the names; if it throws, waiting ends with that error. */
  readonly whileBusy?: () => unknown;
}

export interface Locks {
  take(names: readonly string[], options?: LockOptions): Promise<Lock>;
}

/** Short-lived exclusive locks on names, shared by all processes through Redis. */
export function createLocks(redis: RedisConnections, now: () => number): Locks {
  const lockKey = (name: string) => `${redis.keyPrefix}waymark:lock:${name}`;

  async function release(names: readonly string[], owner: string): Promise<void> {
    if (names.length === 0) return;
    // A lock that cannot be released expires.
    await redis
      .run((client) => Promise.all(names.map((name) => deleteIfEqual(client, lockKey(name), owner))))
      .catch(() => undefined);
  }

  /**
   * Tries to lock all names at once, because they are usually free. If one is locked by another request, the names after it are released
   * again. So a waiting request holds only names that sort before the name it waits for, which prevents deadlocks.
   *
   * @returns how many names, counted from the first, are locked
   */
  async function takeFree(names: readonly string[], owner: string): Promise<number> {
    const answers = await redis.run((client) =>
      Promise.all(names.map((name) => client.set(lockKey(name), owner, 'PX', LOCK_MS, 'NX'))),
    );
    const busy = answers.findIndex((answer) => answer !== 'OK');
    if (busy === -1) return names.length;
    await release(
      names.filter((_name, index) => index > busy && answers[index] === 'OK'),
      owner,
    );
    return busy;
  }

  return {
    async take(names, options = {}) {
      const owner = randomUUID();
      // All requests lock in the same order, so that no two of them wait for each other.
      const sorted = [...new Set(names)].sort();
      const startedMs = now();
      try {
        for (let held = 0; ; ) {
          held += await takeFree(sorted.slice(held), owner);
          if (held === sorted.length) break;
          await options.whileBusy?.();
          if (now() > startedMs + WAIT_MS_MAX) throw new LockedError(sorted[held] ?? '');
          await delay(PAUSE_MS + (randomUInt32() % PAUSE_MS));
        }
      } catch (err) {
        await release(sorted, owner);
        throw err;
      }
      return { workUntilMs: startedMs + LOCK_WORK_MS, release: () => release(sorted, owner) };
    },
  };
}
