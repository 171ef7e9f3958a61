import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { hasElapsed, randomUInt32 } from '@waymark/contract';
import { deleteIfEqual } from '@waymark/redis';
import { LockedError } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

/**
 * TTL of a lock. It is longer than the work under a lock can take: inserts start at most {@link LOCK_WORK_MS} after the call of `take`,
 * which may have locked the first of several names at once, and end by their `max_execution_time`. On a cluster they may wait longer for a
 * quorum; until then ClickHouse refuses further inserts into the table.
 */
const LOCK_MS = 30_000;
const LOCK_WORK_MS = 15_000;
const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 10;

/** A lock on one or more names. */
export interface Lock {
  /** When the call of `take` began, epoch milliseconds. */
  readonly takenMs: number;
  /** Inserts under the lock must be sent before this time, epoch milliseconds. */
  readonly workUntilMs: number;
  /**
   * Releases the lock. Never throws. Do not call it after an insert whose outcome is unknown: the insert may still run, so the lock must
   * stay until it expires.
   */
  release(): Promise<void>;
}

/** Options of `Locks.take`. */
export interface LockOptions {
  /** Called before each further attempt while another request holds one of the names. If it throws, `take` throws that error. */
  readonly whileBusy?: () => unknown;
}

/** Short-lived exclusive locks. */
export interface Locks {
  /** Waits for the locks of all names. @throws LockedError after ten seconds; ApiError 500 with `Retry-After` when Redis is away */
  take(names: readonly string[], options?: LockOptions): Promise<Lock>;
}

/** The part of a lock's name for the log: what it locks, and whose. The rest may be an e-mail address or an external id. */
const withoutText = (name: string) => name.split('/').slice(0, 3).join('/');

/** Creates locks that all processes share through Redis. */
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
   * Tries to lock all names at once, because they are usually free. If another request holds one of them, the names after it are released
   * again. A waiting request thus holds only names that sort before the name for which it waits, which prevents deadlocks.
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
      // All requests lock in this order, so that no two of them wait for each other.
      const sorted = [...new Set(names)].sort();
      const startedMs = now();
      try {
        for (let held = 0; ; ) {
          held += await takeFree(sorted.slice(held), owner);
          if (held === sorted.length) break;
          await options.whileBusy?.();
          if (hasElapsed(startedMs, WAIT_MS_MAX, now())) throw new LockedError(withoutText(sorted[held] ?? ''));
          await delay(PAUSE_MS + (randomUInt32() % PAUSE_MS));
        }
      } catch (err) {
        await release(sorted, owner);
        throw err;
      }
      return { takenMs: startedMs, workUntilMs: startedMs + LOCK_WORK_MS, release: () => release(sorted, owner) };
    },
  };
}
