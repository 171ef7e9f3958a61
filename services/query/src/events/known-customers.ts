import { type Catalog, type CustomerRecord, lookAgain, unavailable } from '@waymark/catalog';
import { resourceIdTime } from '@waymark/contract';
import { CUSTOMER_CLAIM_MS, type MetCustomers } from '@waymark/event-queue';

/** A Redis that was started anew answers by then. */
const REDIS_ANSWERS = { withinMs: 2000, everyMs: 50 };

export interface KnownCustomersParts {
  readonly catalog: { readonly customers: Pick<Catalog['customers'], 'getMany'> };
  readonly metCustomers: MetCustomers;
  readonly now: () => number;
}

async function readPatiently(metCustomers: MetCustomers, ids: readonly string[]) {
  let met: ReadonlyMap<string, string> | undefined;
  let cause: unknown;
  const look = async () => {
    try {
      met = await metCustomers.read(ids);
    } catch (err) {
      cause = err;
    }
    return met !== undefined;
  };
  if (!(await look())) await lookAgain(look, REDIS_ANSWERS);
  if (met === undefined) throw unavailable('new customers in Redis', cause);
  return met;
}

/**
 * The records of those customers that exist. One that an event brought travels in another queue than the event, and may be
 * there after it: until then it is read where `/track` keeps it.
 *
 * @throws ApiError 500 with `Retry-After` when Redis, which alone knows whether a young customer is gone, stays away
 */
export async function knownCustomers(
  { catalog, metCustomers, now }: KnownCustomersParts,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CustomerRecord>> {
  const found = await catalog.customers.getMany(workspaceId, ids);
  const isYoung = (id: string) => now() - (resourceIdTime('customer', id) ?? 0) < CUSTOMER_CLAIM_MS;
  const missing = ids.filter((id) => !found.has(id) && isYoung(id));
  if (missing.length === 0) return found;
  for (const [id, text] of await readPatiently(metCustomers, missing)) {
    const record = JSON.parse(text) as CustomerRecord;
    if (record.id === id && record.workspaceId === workspaceId) found.set(id, record);
  }
  return found;
}
