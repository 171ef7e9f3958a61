import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUInt32 } from '@waymark/contract';
import { unavailable } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

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

export interface LockOptions {
  /** Called while another holds one of the names; throwing ends the wait. */
  readonly whileBusy?: () => unknown;
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
      .run((client) => Promise.all(names.map((name) => client.eval(RELEASE, 1, lockKey(name), owner))))
      .catch(() => undefined);
  }

  /**
   * Asks for all names in one go; they are free as a rule. Those behind the first that is not are given back: whoever waits
   * holds only names that come before the one waited for.
   *
   * @returns how many from the first on are held
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
      // One order for everybody: two who want the same names never wait for each other.
      const sorted = [...new Set(names)].sort();
      const startedMs = now();
      try {
        for (let held = 0; ; ) {
          held += await takeFree(sorted.slice(held), owner);
          if (held === sorted.length) break;
          await options.whileBusy?.();
          if (now() > startedMs + WAIT_MS_MAX) throw unavailable(`lock on ${sorted[held]}`);
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
