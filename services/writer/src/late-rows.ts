import type { Catalog } from '@waymark/catalog';
import type { LateRows } from '@waymark/event-queue';

/** Connects the check of the writer for late rows of erased people (event-queue) with the erasures in the catalog. */
export function lateRowsOf({ erasures, customers }: Pick<Catalog, 'erasures' | 'customers'>): LateRows {
  return {
    current: () => erasures.people.current(),
    onFound: (erasure, { customerNumber, clickIds }) =>
      erasures.addFound(erasure, {
        customerIds: customerNumber === undefined ? [] : [customers.idOf(customerNumber)],
        ...(clickIds === undefined ? {} : { clickIds }),
      }),
  };
}
