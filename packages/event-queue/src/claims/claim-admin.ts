import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { pause, withinMs } from '../redis/deadline.js';
import { claimState, finalValue, PENDING_TTL_MS, pendingValue } from './claim-value.js';
import { notRecorded } from './claims.js';

const ANSWER_WITHIN_MS = 2000;
/** Longer than a request that holds a claim works. */
const PENDING_WAIT_MS = 5000;
const POLL_MS = 20;
const CLAIMS_AT_ONCE = 500;

/** Deletes claims that are final. KEYS: the claims. Answers how many are still pending. */
const FORGET_CLAIMS = `
local pending = 0
for i = 1, #KEYS do
  local held = redis.call('GET', KEYS[i])
  if held and string.sub(held, 1, 2) == 'f:' then redis.call('DEL', KEYS[i])
  elseif held then pending = pending + 1 end
end
return pending
`;

/** Makes a claim final, or gives it back, for the owner who holds it. KEYS[1]: the claim. ARGV: its pending value; final value, ms. */
const END_CLAIM = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
`;

/** Claims as those see them who change or remove what was recorded under them. */
export interface RecordedClaims {
  /**
   * Does work that records something under a claim, and leaves what events that follow at once are to find there. Undefined:
   * something was recorded under it. Who else works under it is waited for: it may record nothing.
   *
   * @throws ApiError 500 with `Retry-After` when Redis is away, or the claim is of somebody who was killed and has not expired
   */
  record<T>(name: string, ttlMs: number, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Forgets what was recorded under the claims. A request under way may have read what was changed and record it again: such
   * are waited for.
   *
   * @throws ApiError 500 when Redis is away
   */
  forget(names: readonly string[]): Promise<void>;
}

export function createRecordedClaims(redis: Redis): RecordedClaims {
  async function ask<T>(command: Promise<T>, what: string): Promise<T> {
    try {
      return await withinMs(command, ANSWER_WITHIN_MS, what);
    } catch (err) {
      throw notRecorded(err);
    }
  }

  async function forgetSome(keys: readonly string[]): Promise<void> {
    const untilMs = performance.now() + PENDING_WAIT_MS;
    for (;;) {
      const pending = await ask(redis.eval(FORGET_CLAIMS, keys.length, ...keys), 'forgetting claims');
      // An owner that is killed leaves its claim pending until it expires: it will record nothing.
      if (pending === 0 || performance.now() > untilMs) return;
      await pause(POLL_MS);
    }
  }

  /** @returns false when something is recorded under the claim */
  async function takeOnceFree(key: string, mine: string): Promise<boolean> {
    const untilMs = performance.now() + PENDING_WAIT_MS;
    while ((await ask(redis.set(key, mine, 'PX', PENDING_TTL_MS, 'NX'), 'taking a claim')) === null) {
      const { state } = claimState(await ask(redis.get(key), 'reading a claim'));
      if (state === 'final') return false;
      if (performance.now() > untilMs) throw notRecorded(new Error('somebody else works under the claim'));
      if (state === 'pending') await pause(POLL_MS);
    }
    return true;
  }

  return {
    async record(name, ttlMs, work) {
      const key = claimKey(name);
      const mine = pendingValue(randomUUID());
      if (!(await takeOnceFree(key, mine))) return undefined;
      let stored = '';
      try {
        const result = await work();
        stored = finalValue(JSON.stringify(result));
        return result;
      } finally {
        // What is not ended expires by itself; the record is found without its claim.
        await redis.eval(END_CLAIM, 1, key, mine, stored, ttlMs).catch(() => undefined);
      }
    },

    async forget(names) {
      const keys = names.map(claimKey);
      for (let start = 0; start < keys.length; start += CLAIMS_AT_ONCE) {
        await forgetSome(keys.slice(start, start + CLAIMS_AT_ONCE));
      }
    },
  };
}
