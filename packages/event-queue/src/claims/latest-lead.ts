import { hash } from 'node:crypto';
import { stateKey } from '../queue/keys.js';

/** How long Redis has the latest lead of a customer: longer than a lead takes to reach ClickHouse, where it is found afterwards. */
export const LATEST_LEAD_MS = 2 * 3_600_000;

/**
 * The Redis key of a customer's latest lead, whose value is the id of its click. A customer is named by id, because external ids change hands;
 * the name of the event is hashed, because it is free text.
 *
 * @param customerId `cus_…`
 * @param eventName undefined = of any name
 */
export function latestLeadKey(workspaceId: string, customerId: string, eventName?: string | undefined): string {
  const identity = JSON.stringify(eventName === undefined ? [customerId] : [customerId, eventName]);
  return stateKey(`lead-of:${workspaceId}:${hash('sha256', identity, 'base64url').slice(0, 22)}`);
}
