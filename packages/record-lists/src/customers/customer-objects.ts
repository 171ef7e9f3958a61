import type { Catalog, CustomerRecord } from '@waymark/catalog';
import type { Customer } from '@waymark/contract';

/** The customer objects of a response, with their current totals, in the order of the records (docs/reference/resources.md). */
export async function customerObjects(
  catalog: Catalog,
  workspaceId: string,
  records: readonly CustomerRecord[],
): Promise<Customer[]> {
  const ids = records.map(({ id }) => id);
  const totals = await catalog.customers.counters(workspaceId, ids);
  return records.map((record) => catalog.customers.toCustomer(record, totals.get(record.id)));
}
