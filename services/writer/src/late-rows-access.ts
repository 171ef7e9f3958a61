import type { Catalog } from '@waymark/catalog';
import type { LateRows } from '@waymark/event-queue';

/**
 * Gives the event writer access to the erasures of the catalog, so that it finds late rows: queued rows of a person who was erased after
 * they were queued.
 */
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
