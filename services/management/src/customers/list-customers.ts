import type { Catalog, CustomerRecord } from '@waymark/catalog';
import { CUSTOMER_PAGES_MAX, fieldError, type ListCustomersQuery } from '@waymark/contract';
import { seenLinks } from '../links/find-link.js';
import type { LinkCaller } from '../links/link-parts.js';

/** @throws ApiError unprocessable_entity for a customer that is not there */
async function checkCursor(catalog: Catalog, workspaceId: string, parameter: string, id: string): Promise<void> {
  if ((await catalog.customers.get(workspaceId, id)) !== undefined) return;
  throw fieldError('invalid_value', parameter, 'must be the id of a customer');
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

async function isLinkHidden(catalog: Catalog, caller: LinkCaller, linkId: string): Promise<boolean> {
  const link = await catalog.links.get(caller.workspace.id, linkId);
  return link !== undefined && (await seenLinks(catalog, caller, [link])).length === 0;
}

/** @throws ApiError unprocessable_entity for cursors that cannot be, and for a page further on than pages are counted */
export async function listCustomers(
  catalog: Catalog,
  caller: LinkCaller,
  query: ListCustomersQuery,
): Promise<CustomerRecord[]> {
  const workspaceId = caller.workspace.id;
  // Who came by a link that the caller must not see is part of it.
  if (query.linkId !== undefined && (await isLinkHidden(catalog, caller, query.linkId))) return [];
  const { startingAfter, endingBefore, sortBy = 'createdAt', sortOrder = 'desc', page, pageSize } = query;
  if (startingAfter !== undefined || endingBefore !== undefined) return pageByCursor(catalog, workspaceId, query);
  if (page > CUSTOMER_PAGES_MAX) {
    throw fieldError('too_big', 'page', `must be at most ${CUSTOMER_PAGES_MAX}; go on by cursor`);
  }
  return catalog.customers.list(workspaceId, { filters: filtersOf(query), sortBy, sortOrder, page, pageSize });
}
