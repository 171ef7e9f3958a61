import { hash } from 'node:crypto';
import { deleteIfEqual } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { stateKey } from '../queue/keys.js';

/** How long Redis stores the latest lead of a customer: longer than the lead takes to reach ClickHouse, where it is found afterwards. */
export const LATEST_LEAD_MS = 2 * 3_600_000;

/**
 * The Redis key of a customer's latest lead; its value is the id of the lead's click. It has the customer's id, because an external id may
 * be given to another customer, and a hash of the event name, because that is free text.
 *
 * @param customerId `cus_…`
 * @param eventName the latest lead with this name; undefined = with any name
 */
export function latestLeadKey(workspaceId: string, customerId: string, eventName?: string | undefined): string {
  const identity = JSON.stringify(eventName === undefined ? [customerId] : [customerId, eventName]);
  return stateKey(`lead-of:${workspaceId}:${hash('sha256', identity, 'base64url').slice(0, 22)}`);
}

/** Removes the latest lead of a customer from Redis, unless another click has taken its place. @param key from {@link latestLeadKey} */
export function removeLatestLead(redis: Pick<Redis, 'eval'>, key: string, clickId: string): Promise<void> {
  return deleteIfEqual(redis, key, clickId);
}
