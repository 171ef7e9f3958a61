import type { EventRow } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import type { StateValue } from '../producer/transaction.js';
import { stateKey } from '../queue/keys.js';

/**
 * Customers whose row is in the queue and not in ClickHouse yet. The transaction that queues the row enters the customer here,
 * the writer removes the entry once the row and its name are inserted or parked. Numbers are the UInt64 of ids, as text.
 */

/** How long entries outlive their writer: one that was lost must not leave personal data behind for good. */
export const PENDING_MS_MAX = 24 * 3_600_000;

/** Entries that one call to Redis removes. */
const REMOVED_AT_ONCE = 500;

/** Record (JSON) by number. */
const recordsKey = (workspace: string) => stateKey(`pending-customers:${workspace}`);
/** Number by external id. */
const namesKey = (workspace: string) => stateKey(`pending-customer-names:${workspace}`);

/** What identifies a pending customer. */
export interface PendingCustomer {
  readonly workspace: string;
  readonly number: string;
  readonly externalId: string;
}

/**
 * What a commit sets beside the row of a new customer.
 *
 * @param row a queue row of a customer, version 1: workspace, number, version, deleted, external id, …, record as JSON
 */
export function pendingCustomer(row: EventRow): StateValue[] {
  const [workspace, number, , , externalId] = row;
  const entry = { ttlMs: PENDING_MS_MAX };
  return [
    { ...entry, key: recordsKey(String(workspace)), field: String(number), value: String(row.at(-1)) },
    { ...entry, key: namesKey(String(workspace)), field: String(externalId), value: String(number) },
  ];
}

/** Records (JSON) by number; those that are not pending are absent. */
export async function readPendingCustomers(
  redis: Redis,
  workspace: string,
  numbers: readonly string[],
): Promise<Map<string, string>> {
  const texts = await redis.hmget(recordsKey(workspace), ...numbers);
  return new Map(
    numbers.flatMap((number, index) => {
      const text = texts[index];
      return typeof text === 'string' ? [[number, text] as const] : [];
    }),
  );
}

/** The number of the pending customer of that external id. */
export async function findPendingCustomer(
  redis: Redis,
  workspace: string,
  externalId: string,
): Promise<string | undefined> {
  return (await redis.hget(namesKey(workspace), externalId)) ?? undefined;
}

/** Every pending customer of a workspace, record (JSON) by number; undefined when there are more than `countMax`. */
export async function readAllPendingCustomers(
  redis: Redis,
  workspace: string,
  countMax: number,
): Promise<Map<string, string> | undefined> {
  const key = recordsKey(workspace);
  if ((await redis.hlen(key)) > countMax) return undefined;
  return new Map(Object.entries(await redis.hgetall(key)));
}

/**
 * Removes entries, the external id only while it is that customer's: another may have it by now. KEYS: records, names. ARGV:
 * number and external id of each.
 */
const REMOVE = `
for i = 1, #ARGV, 2 do
  redis.call('HDEL', KEYS[1], ARGV[i])
  if redis.call('HGET', KEYS[2], ARGV[i + 1]) == ARGV[i] then redis.call('HDEL', KEYS[2], ARGV[i + 1]) end
end
return 0
`;

/** To be called once the rows of these customers are inserted or parked. Removing one again does nothing. */
export async function removePendingCustomers(redis: Redis, customers: readonly PendingCustomer[]): Promise<void> {
  const byWorkspace = new Map<string, string[]>();
  for (const { workspace, number, externalId } of customers) {
    const known = byWorkspace.get(workspace);
    if (known === undefined) byWorkspace.set(workspace, [number, externalId]);
    else known.push(number, externalId);
  }
  for (const [workspace, entries] of byWorkspace) {
    for (let start = 0; start < entries.length; start += 2 * REMOVED_AT_ONCE) {
      const some = entries.slice(start, start + 2 * REMOVED_AT_ONCE);
      await redis.eval(REMOVE, 2, recordsKey(workspace), namesKey(workspace), ...some);
    }
  }
}
