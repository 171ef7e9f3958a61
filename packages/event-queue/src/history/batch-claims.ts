import { chunksOf } from '@waymark/contract';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { claimState, finalValue, PENDING_TTL_MS, pendingValue } from '../claims/claim-value.js';
import { claimKey } from '../queue/keys.js';
import { pause, withinMs } from '../redis/deadline.js';

const ANSWER_WITHIN_MS = 2000;
const POLL_MS = 50;
const CLAIMS_AT_ONCE = 500;
/** Age at which claims that are held are renewed. */
export const RENEW_MS = 8_000;
/** How long to wait for other owners: until the claims of a killed process have expired. */
const WAIT_MS_MAX = PENDING_TTL_MS + 5_000;

/**
 * Takes or renews claims for one owner. KEYS: the claims. ARGV: the owner's pending value and the TTL in milliseconds. Returns for each
 * claim the value that another owner has set, or '' if the owner now holds it.
 */
const HOLD_CLAIMS = `
local answers = {}
for i = 1, #KEYS do
  local held = redis.call('GET', KEYS[i])
  if held and held ~= ARGV[1] then answers[i] = held
  else
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
    answers[i] = ''
  end
end
return answers
`;

/**
 * Ends claims that are still pending for their owner. KEYS: the claims. ARGV: the owner's pending value, the TTL of final claims in
 * milliseconds, and for each claim its final value, or '' to release it.
 */
const END_CLAIMS = `
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then
    if ARGV[i + 2] == '' then redis.call('DEL', KEYS[i]) else redis.call('SET', KEYS[i], ARGV[i + 2], 'PX', ARGV[2]) end
  end
end
return 0
`;

/**
 * Claims of the sales that an import of past events stores together. They are held for longer than a request may hold claims, so they are
 * renewed.
 */
export interface BatchClaims {
  /**
   * Takes claims, or renews them, as pending for {@link PENDING_TTL_MS}. Waits while others hold one of them.
   *
   * @param owner name of the owner. After its process was killed, another process gets the claims under the same name
   * @returns the names of the claims that are final, because other events have them
   * @throws Error when Redis does not answer, or a claim stays pending
   */
  hold(names: readonly string[], owner: string): Promise<ReadonlySet<string>>;
  /**
   * Makes claims final for `ttlMs`, or releases those without a value.
   *
   * @throws Error when Redis does not answer
   */
  end(
    claims: readonly { readonly name: string; readonly value: string | undefined }[],
    owner: string,
    ttlMs: number,
  ): Promise<void>;
}

/** @param waitReplicas how many replicas of Redis must confirm that claims are taken */
export function createBatchClaims(redis: Redis, waitReplicas: number): BatchClaims {
  const replication = createReplication(redis, waitReplicas);

  /** Takes the claims that are free, and renews those that the owner has. @returns the stored values of the claims of other owners, by name */
  async function takeFree(names: readonly string[], owner: string): Promise<Map<string, string>> {
    const others = new Map<string, string>();
    for (const some of chunksOf(names, CLAIMS_AT_ONCE)) {
      const keys = some.map(claimKey);
      const taking = replication.confirmed(
        () => redis.eval(HOLD_CLAIMS, keys.length, ...keys, pendingValue(owner), PENDING_TTL_MS) as Promise<string[]>,
      );
      const answers = await withinMs(taking, ANSWER_WITHIN_MS, 'taking claims');
      for (const [index, name] of some.entries()) {
        const held = answers[index] ?? '';
        if (held !== '') others.set(name, held);
      }
    }
    return others;
  }

  return {
    async hold(names, owner) {
      const final = new Set<string>();
      const untilMs = performance.now() + WAIT_MS_MAX;
      /** @returns the names that are pending for other owners */
      const takeSome = async (some: readonly string[]) => {
        const others = await takeFree(some, owner);
        return [...others].flatMap(([name, held]) => {
          if (claimState(held).state === 'pending') return [name];
          final.add(name);
          return [];
        });
      };
      for (;;) {
        // All names, which also renews the claims that are held.
        let pending = await takeSome(names.filter((name) => !final.has(name)));
        const renewAtMs = performance.now() + RENEW_MS;
        while (pending.length > 0 && performance.now() < renewAtMs) {
          await pause(POLL_MS);
          pending = await takeSome(pending);
        }
        if (pending.length === 0) return final;
        if (performance.now() > untilMs) throw new Error(`another process holds the claim ${pending[0]}`);
      }
    },

    async end(claims, owner, ttlMs) {
      for (const some of chunksOf(claims, CLAIMS_AT_ONCE)) {
        const keys = some.map(({ name }) => claimKey(name));
        const values = some.map(({ value }) => (value === undefined ? '' : finalValue(value)));
        const ending = redis.eval(END_CLAIMS, keys.length, ...keys, pendingValue(owner), ttlMs, ...values);
        await withinMs(ending, ANSWER_WITHIN_MS, 'ending claims');
      }
    },
  };
}
