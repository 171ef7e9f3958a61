import type { Catalog, CustomerRecord } from '@waymark/catalog';
import {
  CUSTOMER_PAGES_MAX,
  type CustomerFilterQuery,
  fieldError,
  type ListCustomersQuery,
  RESOURCE_PREFIX,
} from '@waymark/contract';
import type { LinkCaller } from '../links/link-deps.js';
import { visibleLinks } from '../links/read/find-link.js';

/** @throws ApiError 422 when the customer does not exist */
export async function checkCursor(catalog: Catalog, workspaceId: string, parameter: string, id: string): Promise<void> {
  if ((await catalog.customers.get(workspaceId, id)) !== undefined) return;
  throw fieldError('invalid_value', parameter, 'must be the id of a customer');
}

/** The filters of a query, for the catalog. */
export function filtersOf(query: CustomerFilterQuery) {
  const { email, linkId, programId, partnerId } = query;
  // An exact email takes precedence over other filters that identify a customer.
  const { externalId, search } = email === undefined ? query : {};
  return { email, externalId, search, country: query.country?.toUpperCase(), linkId, programId, partnerId };
}

/** A page after or before a cursor: always newest first; `page` is ignored. */
async function pageByCursor(catalog: Catalog, workspaceId: string, query: ListCustomersQuery) {
  const { startingAfter, endingBefore, sortBy = 'createdAt', pageSize } = query;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    throw fieldError('invalid_combination', 'endingBefore', 'cannot be used together with startingAfter');
  }
  const parameter = startingAfter === undefined ? 'endingBefore' : 'startingAfter';
  if (sortBy !== 'createdAt') {
    throw fieldError('invalid_combination', parameter, 'cannot be used together with sortBy');
  }
  await checkCursor(catalog, workspaceId, parameter, startingAfter ?? endingBefore ?? '');
  const filters = { ...filtersOf(query), beforeId: startingAfter, afterId: endingBefore };
  const sortOrder = endingBefore === undefined ? 'desc' : 'asc';
  const found = await catalog.customers.list(workspaceId, { filters, sortBy, sortOrder, page: 1, pageSize });
  return endingBefore === undefined ? found : found.reverse();
}

/**
 * The id of the link in a query. It may be a deleted link, through which customers came.
 *
 * @returns undefined when the caller can see no customers of such a link
 */
export async function linkIdOf(catalog: Catalog, caller: LinkCaller, reference: string): Promise<string | undefined> {
  const link = await catalog.links.find(caller.workspace.id, reference);
  if (link === undefined) return reference.startsWith(RESOURCE_PREFIX.link) ? reference : undefined;
  // The customers of a link are as confidential as the link.
  const [seen] = await visibleLinks(catalog, caller, [link]);
  return seen?.id;
}

/** Lists customers. @throws ApiError unprocessable_entity for invalid cursors and for page numbers that are too high */
export async function listCustomers(
  catalog: Catalog,
  caller: LinkCaller,
  params: ListCustomersQuery,
): Promise<CustomerRecord[]> {
  const workspaceId = caller.workspace.id;
  const linkId = params.linkId && (await linkIdOf(catalog, caller, params.linkId));
  if (params.linkId !== undefined && linkId === undefined) return [];
  const query = { ...params, linkId };
  const { startingAfter, endingBefore, sortBy = 'createdAt', sortOrder = 'desc', page, pageSize } = query;
  if (startingAfter !== undefined || endingBefore !== undefined) return pageByCursor(catalog, workspaceId, query);
  if (page > CUSTOMER_PAGES_MAX) {
    throw fieldError('too_big', 'page', `must be at most ${CUSTOMER_PAGES_MAX}; use a cursor to go further`);
  }
  return catalog.customers.list(workspaceId, { filters: filtersOf(query), sortBy, sortOrder, page, pageSize });
}
