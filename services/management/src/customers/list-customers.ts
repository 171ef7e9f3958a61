import type { Catalog, CustomerRecord, KeyCaller } from '@waymark/catalog';
import { CUSTOMER_PAGES_MAX, fieldError, type ListCustomersQuery } from '@waymark/contract';
import { customerCursorOf, customerFiltersOf, customerLinkIdOf } from '@waymark/record-lists';

/** Lists customers. @throws ApiError unprocessable_entity for invalid cursors and for page numbers that are too high */
export async function listCustomers(
  catalog: Catalog,
  caller: KeyCaller,
  query: ListCustomersQuery,
): Promise<CustomerRecord[]> {
  const workspaceId = caller.workspace.id;
  const { sortBy = 'createdAt', sortOrder = 'desc', page, pageSize } = query;
  const cursor = await customerCursorOf(catalog, workspaceId, query);
  if (cursor === undefined && page > CUSTOMER_PAGES_MAX) {
    throw fieldError('too_big', 'page', `must be at most ${CUSTOMER_PAGES_MAX}; use a cursor to go further`);
  }
  const linkId = query.linkId && (await customerLinkIdOf(catalog, caller, query.linkId));
  if (query.linkId !== undefined && linkId === undefined) return [];
  const filters = customerFiltersOf({ ...query, linkId });
  if (cursor !== undefined) {
    return catalog.customers.listFrom(workspaceId, filters, { order: sortOrder, limit: pageSize, ...cursor });
  }
  return catalog.customers.list(workspaceId, { filters, sortBy, sortOrder, page, pageSize });
}
