import type { Redis } from 'ioredis';
import { notRecorded } from './claims.js';
import { pause, withinMs } from './deadline.js';
import { claimKey } from './queue-keys.js';

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

/** Claims as those see them who change or remove what was recorded under them. */
export interface RecordedClaims {
  /** Whether somebody works under the claim, or has recorded something. @throws ApiError 500 when Redis is away */
  isHeld(name: string): Promise<boolean>;
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
      // An owner that dies leaves its claim pending until it expires: it will record nothing.
      if (pending === 0 || performance.now() > untilMs) return;
      await pause(POLL_MS);
    }
  }

  return {
    isHeld: async (name) => (await ask(redis.exists(claimKey(name)), 'reading a claim')) === 1,

    async forget(names) {
      const keys = names.map(claimKey);
      for (let start = 0; start < keys.length; start += CLAIMS_AT_ONCE) {
        await forgetSome(keys.slice(start, start + CLAIMS_AT_ONCE));
      }
    },
  };
}
