import type { Catalog, CustomerRecord } from '@waymark/catalog';
import { CUSTOMER_PAGES_MAX, fieldError, type ListCustomersQuery } from '@waymark/contract';
import { checkCustomerCursor, customerFiltersOf, customerLinkIdOf, type LinkCaller } from '@waymark/record-lists';

/** A page after or before a cursor, in the order of creation; `page` is ignored. */
async function pageByCursor(catalog: Catalog, workspaceId: string, query: ListCustomersQuery) {
  const { startingAfter, endingBefore, sortBy = 'createdAt', sortOrder = 'desc', pageSize } = query;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    throw fieldError('invalid_combination', 'endingBefore', 'cannot be used together with startingAfter');
  }
  const parameter = startingAfter === undefined ? 'endingBefore' : 'startingAfter';
  if (sortBy !== 'createdAt') {
    throw fieldError('invalid_combination', parameter, 'cannot be used together with sortBy');
  }
  const id = startingAfter ?? endingBefore ?? '';
  await checkCustomerCursor(catalog, workspaceId, parameter, id);
  // Before a cursor, the nearest customers are found in the opposite order.
  const readOrder = (startingAfter !== undefined) === (sortOrder === 'desc') ? 'desc' : 'asc';
  const filters = { ...customerFiltersOf(query), ...(readOrder === 'desc' ? { beforeId: id } : { afterId: id }) };
  const found = await catalog.customers.list(workspaceId, {
    ...{ filters, sortBy, sortOrder: readOrder, page: 1, pageSize },
  });
  return readOrder === sortOrder ? found : found.reverse();
}

/** Lists customers. @throws ApiError unprocessable_entity for invalid cursors and for page numbers that are too high */
export async function listCustomers(
  catalog: Catalog,
  caller: LinkCaller,
  params: ListCustomersQuery,
): Promise<CustomerRecord[]> {
  const workspaceId = caller.workspace.id;
  const linkId = params.linkId && (await customerLinkIdOf(catalog, caller, params.linkId));
  if (params.linkId !== undefined && linkId === undefined) return [];
  const query = { ...params, linkId };
  const { startingAfter, endingBefore, sortBy = 'createdAt', sortOrder = 'desc', page, pageSize } = query;
  if (startingAfter !== undefined || endingBefore !== undefined) return pageByCursor(catalog, workspaceId, query);
  if (page > CUSTOMER_PAGES_MAX) {
    throw fieldError('too_big', 'page', `must be at most ${CUSTOMER_PAGES_MAX}; use a cursor to go further`);
  }
  return catalog.customers.list(workspaceId, { filters: customerFiltersOf(query), sortBy, sortOrder, page, pageSize });
}
