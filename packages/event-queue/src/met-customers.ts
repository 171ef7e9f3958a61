import type { Redis } from 'ioredis';
import { CUSTOMER_CLAIM_MS } from './claim-names.js';
import { claimState } from './claim-value.js';
import { withinMs } from './deadline.js';
import { claimKey, stateKey } from './queue-keys.js';
import type { StateValue } from './transaction.js';

/** For readers, who have something else to say when Redis is slow. */
const ANSWER_WITHIN_MS = 250;

function noteKey(id: string): string {
  return stateKey(`customer:${id}`);
}

/** Notes under which claim a customer is kept that an event brings, for those who know its id only. */
export function metCustomer(id: string, claim: string): StateValue {
  return { key: noteKey(id), value: claim, ttlMs: CUSTOMER_CLAIM_MS };
}

/** Customers whose row may still be in the queue. */
export interface MetCustomers {
  /**
   * What their claims keep, by id. A customer that was removed or changed since, or never brought by an event, is not among
   * them; an external id may belong to another customer by now.
   *
   * @throws when Redis does not answer within a quarter of a second
   */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export function createMetCustomers(redis: Redis): MetCustomers {
  const valuesOf = (keys: readonly string[]) =>
    withinMs(redis.mget(...keys), ANSWER_WITHIN_MS, 'reading new customers');

  return {
    async read(ids) {
      const notes = await valuesOf(ids.map(noteKey));
      const noted = ids.flatMap((id, index) => {
        const claim = notes[index];
        return typeof claim === 'string' ? [{ id, claim }] : [];
      });
      if (noted.length === 0) return new Map();
      const held = await valuesOf(noted.map(({ claim }) => claimKey(claim)));
      return new Map(
        noted.flatMap(({ id }, index) => {
          const claim = claimState(held[index] ?? null);
          return claim.state === 'final' ? [[id, claim.value] as const] : [];
        }),
      );
    },
  };
}
