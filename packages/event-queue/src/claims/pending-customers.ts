import { chunksOf, groupBy } from '@waymark/contract';
import type { EventRow, QueuedCustomer } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import type { StateValue } from '../producer/transaction.js';
import { stateKey } from '../queue/keys.js';

/**
 * Entries in Redis for customers whose row is in the queue but not in ClickHouse yet, so that reads find them. The transaction that queues
 * the row adds the entry. The writer removes it once the row and its name are inserted, or parked as a dead letter. A `number` is the
 * UInt64 of a resource id, as a decimal string, and `workspace` is the number of a workspace.
 */

/** TTL of a workspace's entries, which starts anew with each of them: a limit on how long Redis has personal data that no writer removes. */
export const PENDING_MS_MAX = 24 * 3_600_000;

/** Entries removed by one call to Redis. */
const REMOVED_AT_ONCE = 500;

/** Hash of records (JSON) by number. */
const recordsKey = (workspace: string) => stateKey(`pending-customers:${workspace}`);
/** Hash of numbers by external id. */
const namesKey = (workspace: string) => stateKey(`pending-customer-names:${workspace}`);

/**
 * The state to set in the commit that queues the row of a new customer.
 *
 * @param row a queue row of a customer, version 1: workspace, number, version, deleted, external id, …, record as JSON
 */
export function pendingCustomer(row: EventRow): StateValue[] {
  const [workspace, number, , , externalId] = row;
  const ttlMs = PENDING_MS_MAX;
  return [
    { key: recordsKey(String(workspace)), field: String(number), value: String(row.at(-1)), ttlMs },
    { key: namesKey(String(workspace)), field: String(externalId), value: String(number), ttlMs },
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

/** The number of the pending customer with this external id; undefined if there is none. */
export async function findPendingCustomer(
  redis: Redis,
  workspace: string,
  externalId: string,
): Promise<string | undefined> {
  return (await redis.hget(namesKey(workspace), externalId)) ?? undefined;
}

/** Records (JSON) of all pending customers of a workspace, by number; undefined if there are more than `countMax`. */
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
 * Removes entries. An external id is removed only if it still belongs to that customer: another customer may have it by now.
 * KEYS: records, names. ARGV: number and external id of each.
 */
const REMOVE = `
for i = 1, #ARGV, 2 do
  redis.call('HDEL', KEYS[1], ARGV[i])
  if redis.call('HGET', KEYS[2], ARGV[i + 1]) == ARGV[i] then redis.call('HDEL', KEYS[2], ARGV[i + 1]) end
end
return 0
`;

/** Call this once the rows of these customers are inserted or parked. Idempotent. */
export async function removePendingCustomers(
  redis: Redis,
  customers: readonly Omit<QueuedCustomer, 'record'>[],
): Promise<void> {
  for (const [workspace, ofWorkspace] of groupBy(customers, (customer) => customer.workspace)) {
    for (const some of chunksOf(ofWorkspace, REMOVED_AT_ONCE)) {
      const entries = some.flatMap(({ number, externalId }) => [number, externalId]);
      await redis.eval(REMOVE, 2, recordsKey(workspace), namesKey(workspace), ...entries);
    }
  }
}
