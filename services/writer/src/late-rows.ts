import type { Catalog } from '@waymark/catalog';
import type { LateRows } from '@waymark/event-queue';

/** The erasures of the catalog, in the form in which the writer of event-queue checks late rows. */
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
