import type { Catalog, CustomerRecord } from '@waymark/catalog';
import { ApiError, CUSTOMER_PAGES_MAX, type ListCustomersQuery } from '@waymark/contract';

/** @throws ApiError unprocessable_entity for a customer that is not there */
async function checkCursor(catalog: Catalog, workspaceId: string, id: string): Promise<void> {
  if ((await catalog.customers.get(workspaceId, id)) !== undefined) return;
  throw new ApiError('unprocessable_entity', `custom: the customer "${id}" of the cursor was not found`);
}

function filtersOf(query: ListCustomersQuery) {
  const { email, linkId, programId, partnerId } = query;
  // An exact email wins over what else says who is meant (spec 5.4).
  const { externalId, search } = email === undefined ? query : {};
  return { email, externalId, search, country: query.country?.toUpperCase(), linkId, programId, partnerId };
}

/** A page from a cursor on: always the newest first, whatever page is asked for as well (spec 1.7). */
async function pageByCursor(catalog: Catalog, workspaceId: string, query: ListCustomersQuery) {
  const { startingAfter, endingBefore, sortBy = 'createdAt', pageSize } = query;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    throw new ApiError('unprocessable_entity', 'custom: startingAfter and endingBefore exclude each other');
  }
  if (sortBy !== 'createdAt') {
    throw new ApiError('unprocessable_entity', 'custom: sortBy: a cursor goes with createdAt only');
  }
  const cursor = startingAfter ?? endingBefore ?? '';
  await checkCursor(catalog, workspaceId, cursor);
  const filters = { ...filtersOf(query), beforeId: startingAfter, afterId: endingBefore };
  const sortOrder = endingBefore === undefined ? 'desc' : 'asc';
  const found = await catalog.customers.list(workspaceId, { filters, sortBy, sortOrder, page: 1, pageSize });
  return endingBefore === undefined ? found : found.reverse();
}

/** @throws ApiError unprocessable_entity for cursors that cannot be, and for a page further on than pages are counted */
export async function listCustomers(
  catalog: Catalog,
  workspaceId: string,
  query: ListCustomersQuery,
): Promise<CustomerRecord[]> {
  const { startingAfter, endingBefore, sortBy = 'createdAt', sortOrder = 'desc', page, pageSize } = query;
  if (startingAfter !== undefined || endingBefore !== undefined) return pageByCursor(catalog, workspaceId, query);
  if (page > CUSTOMER_PAGES_MAX) {
    throw new ApiError('unprocessable_entity', `too_big: page: at most ${CUSTOMER_PAGES_MAX}; go on by cursor`);
  }
  return catalog.customers.list(workspaceId, { filters: filtersOf(query), sortBy, sortOrder, page, pageSize });
}
