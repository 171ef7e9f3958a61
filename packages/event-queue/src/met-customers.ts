import { resourceIdTime } from '@waymark/contract';
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
   * Their records as JSON, by id. Not among them are customers that no event brought, that were removed or changed since, or
   * that are older than claims are kept.
   *
   * @throws when Redis does not answer within half a second
   */
  read(ids: readonly string[], nowMs: number): Promise<ReadonlyMap<string, string>>;
}

function idIn(record: string): unknown {
  return (JSON.parse(record) as { readonly id?: unknown }).id;
}

export function createMetCustomers(redis: Redis): MetCustomers {
  const valuesOf = (keys: readonly string[]) =>
    withinMs(redis.mget(...keys), ANSWER_WITHIN_MS, 'reading new customers');

  return {
    async read(ids, nowMs) {
      const young = ids.filter((id) => nowMs - (resourceIdTime('customer', id) ?? 0) < CUSTOMER_CLAIM_MS);
      if (young.length === 0) return new Map();
      const notes = await valuesOf(young.map(noteKey));
      const noted = young.flatMap((id, index) => {
        const claim = notes[index];
        return typeof claim === 'string' ? [{ id, claim }] : [];
      });
      if (noted.length === 0) return new Map();
      const held = await valuesOf(noted.map(({ claim }) => claimKey(claim)));
      return new Map(
        noted.flatMap(({ id }, index) => {
          const claim = claimState(held[index] ?? null);
          // The external id may belong to another customer by now.
          return claim.state === 'final' && idIn(claim.value) === id ? [[id, claim.value] as const] : [];
        }),
      );
    },
  };
}
