import { type Catalog, type KeyCaller, linkVisibility, visibleLinks } from '@waymark/catalog';
import { type CustomerFilterQuery, type ListCustomersQuery, parseResourceId } from '@waymark/contract';
import { type CursorQuery, cursorOf } from '../record-cursor.js';

/** The cursor of a query of customers. @throws ApiError 422; see {@link cursorOf} */
export function customerCursorOf(
  { customers }: Catalog,
  workspaceId: string,
  query: CursorQuery & Pick<ListCustomersQuery, 'sortBy'>,
) {
  return cursorOf('customer', query, query.sortBy ?? 'createdAt', async (id) => {
    const customer = await customers.get(workspaceId, id);
    return customer !== undefined || customers.everExisted(workspaceId, id);
  });
}

/** Converts the filters of a query to those of `catalog.customers.list`. */
export function customerFiltersOf(query: CustomerFilterQuery) {
  const { email, linkId, programId, partnerId } = query;
  // An exact email takes precedence over other filters that identify a customer.
  const { externalId, search } = email === undefined ? query : {};
  return { email, externalId, search, country: query.country?.toUpperCase(), linkId, programId, partnerId };
}

/**
 * The id of the link that a query refers to by id or `ext_…`. It may be a deleted link, because customers came through it, but only for
 * callers who see every folder: the folder of a deleted link may be a hidden one.
 *
 * @returns undefined when the link does not exist, or the caller may not see it: the list of its customers is then empty
 */
export async function customerLinkIdOf(
  catalog: Catalog,
  caller: KeyCaller,
  reference: string,
): Promise<string | undefined> {
  const link = await catalog.links.find(caller.workspace.id, reference);
  if (link === undefined) {
    const isId = parseResourceId('link', reference) !== undefined;
    return isId && !linkVisibility(caller.apiKey).hidesFolders ? reference : undefined;
  }
  // The customers of a link are as confidential as the link.
  const [seen] = await visibleLinks(catalog, caller, [link]);
  return seen?.id;
}
