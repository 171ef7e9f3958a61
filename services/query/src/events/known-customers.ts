import { type Catalog, type CustomerRecord, lookAgain } from '@waymark/catalog';
import { resourceIdTime } from '@waymark/contract';

/** A customer this young may be on its way still: it travels in another queue than the lead that brought it. */
const YOUNG_MS = 60_000;
const ON_ITS_WAY = { withinMs: 1000, everyMs: 50 };

/**
 * The records of those customers that exist. One that was just met is waited for a moment, rather than taken for a customer
 * that is gone.
 */
export async function knownCustomers(
  catalog: { readonly customers: Pick<Catalog['customers'], 'getMany'> },
  workspaceId: string,
  ids: readonly string[],
  now: () => number,
): Promise<ReadonlyMap<string, CustomerRecord>> {
  const found = await catalog.customers.getMany(workspaceId, ids);
  const isYoung = (id: string) => now() - (resourceIdTime('customer', id) ?? 0) < YOUNG_MS;
  let missing = ids.filter((id) => !found.has(id) && isYoung(id));
  if (missing.length === 0) return found;
  await lookAgain(async () => {
    for (const [id, record] of await catalog.customers.getMany(workspaceId, missing)) found.set(id, record);
    missing = missing.filter((id) => !found.has(id));
    return missing.length === 0;
  }, ON_ITS_WAY);
  return found;
}
