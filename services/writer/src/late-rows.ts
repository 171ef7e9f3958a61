import type { Catalog } from '@waymark/catalog';
import type { LateRows } from '@waymark/event-queue';

/** What the writer does about rows of erased people: the erasures are in the catalog. */
export function lateRowsOf({ erasures, customers }: Pick<Catalog, 'erasures' | 'customers'>): LateRows {
  return {
    current: () => erasures.people.current(),
    onCustomer: (erasure, customerNumber) =>
      erasures.addFound(erasure, { customerIds: [customers.idOf(customerNumber)] }),
  };
}
