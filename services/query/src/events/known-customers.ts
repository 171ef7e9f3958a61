import { type Catalog, type CustomerRecord, lookAgain, unavailable } from '@waymark/catalog';
import type { MetCustomers } from '@waymark/event-queue';

/** A Redis that was started anew answers by then. */
const REDIS_ANSWERS = { withinMs: 2000, everyMs: 50 };

export interface KnownCustomersParts {
  readonly catalog: { readonly customers: Pick<Catalog['customers'], 'getMany'> };
  readonly metCustomers: MetCustomers;
  readonly now: () => number;
}

async function readPatiently({ metCustomers, now }: KnownCustomersParts, ids: readonly string[]) {
  let met: ReadonlyMap<string, string> | undefined;
  let cause: unknown;
  const look = async () => {
    try {
      met = await metCustomers.read(ids, now());
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
  parts: KnownCustomersParts,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CustomerRecord>> {
  const found = await parts.catalog.customers.getMany(workspaceId, ids);
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length === 0) return found;
  for (const [id, text] of await readPatiently(parts, missing)) {
    const record = JSON.parse(text) as CustomerRecord;
    if (record.workspaceId === workspaceId) found.set(id, record);
  }
  return found;
}
