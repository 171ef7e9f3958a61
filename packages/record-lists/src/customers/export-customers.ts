import type { Catalog, CustomerRecord, KeyCaller } from '@waymark/catalog';
import type { Customer, CustomerColumn, ExportCustomersQuery } from '@waymark/contract';
import type { Column, ColumnType, ExportSource } from '@waymark/export';
import { type ExportPart, slicesOfRecords } from '../export-part.js';
import { customerObjects } from './customer-objects.js';
import { customerCursorOf, customerFiltersOf, customerLinkIdOf } from './customer-query.js';
import { expandedCustomers } from './expanded-customers.js';

function field(name: keyof Customer, type: ColumnType = 'text'): Column<Customer> {
  return { type, read: (customer) => customer[name] };
}

/** For each column of an exported file of customers, how its value is read from an object of `GET /customers`. */
export const CUSTOMER_COLUMN_SOURCES: Readonly<Record<CustomerColumn, Column<Customer>>> = {
  id: field('id'),
  externalId: field('externalId'),
  name: field('name'),
  email: field('email'),
  country: field('country'),
  sales: field('sales', 'integer'),
  saleAmount: field('saleAmount', 'integer'),
  createdAt: field('createdAt', 'time'),
  firstSaleAt: field('firstSaleAt', 'time'),
  avatar: field('avatar'),
  stripeCustomerId: field('stripeCustomerId'),
  subscriptionCanceledAt: field('subscriptionCanceledAt', 'time'),
};

async function* noSlices(): AsyncGenerator<never> {}

/**
 * Reads the customers of `GET /customers/export` and of export jobs, by time of creation: newest first, unless `sortOrder` is `asc`.
 *
 * @throws ApiError 422 for an invalid cursor
 */
export async function exportCustomers(
  catalog: Catalog,
  caller: KeyCaller,
  query: ExportCustomersQuery,
  part: ExportPart = {},
): Promise<ExportSource> {
  const { customers } = catalog;
  const workspaceId = caller.workspace.id;
  const { startingAfter, sortOrder: order = 'desc' } = query;
  const cursor = await customerCursorOf(catalog, workspaceId, { startingAfter });
  const linkId = query.linkId && (await customerLinkIdOf(catalog, caller, query.linkId));
  if (query.linkId !== undefined && linkId === undefined) return noSlices();
  const filters = customerFiltersOf({ ...query, linkId });

  return slicesOfRecords<CustomerRecord>(
    {
      kind: 'customer',
      startId: cursor?.id,
      readFirst: (limit) =>
        customers.list(workspaceId, { filters, sortBy: 'createdAt', sortOrder: order, page: 1, pageSize: limit }),
      readAfter: (id, limit) => customers.listFrom(workspaceId, filters, { order, limit, id, side: 'after' }),
      objectsOf: (records) =>
        query.includeExpandedFields === true
          ? expandedCustomers(catalog, caller, records)
          : customerObjects(catalog, workspaceId, records),
    },
    part,
  );
}
