import { type KeyCaller, type LinkGroup, linkVisibility } from '@waymark/catalog';
import { fieldError, LINK_PAGES_MAX, type Link, type LinkFilterQuery, type ListLinksQuery } from '@waymark/contract';
import { linkCursorOf, linkFiltersOf, linkSortOf } from '@waymark/record-lists';
import type { LinkDeps } from '../link-deps.js';

/** `GET /links`. @throws ApiError 403, 404 or 422 */
export async function listLinks(deps: LinkDeps, caller: KeyCaller, query: ListLinksQuery): Promise<Link[]> {
  const { links } = deps.catalog;
  const workspaceId = caller.workspace.id;
  const { sortOrder = 'desc', page, pageSize: limit } = query;
  const cursor = await linkCursorOf(deps, caller, query);
  if (page > LINK_PAGES_MAX) {
    const further = cursor === undefined ? 'use a cursor to go further' : 'continue from a later link';
    throw fieldError('too_big', 'page', `must be at most ${LINK_PAGES_MAX}; ${further}`);
  }
  const filters = await linkFiltersOf(deps, caller, query);
  // Pages are counted from the cursor: the iterator of `links.list` in the SDK sends it again with each following page.
  const offset = (page - 1) * limit;
  const records =
    cursor === undefined
      ? await links.list(workspaceId, { filters, sortBy: linkSortOf(query), sortOrder, limit, offset })
      : await links.listFrom(workspaceId, filters, { order: sortOrder, limit, offset, ...cursor });
  return links.objects(workspaceId, records, linkVisibility(caller.apiKey));
}

/** `GET /links/count`: a number or, when grouped, one number per value, highest first. @throws ApiError 403 or 404 */
export async function countLinks(
  deps: LinkDeps,
  caller: KeyCaller,
  query: LinkFilterQuery & { readonly groupBy?: LinkGroup | undefined },
) {
  const { links } = deps.catalog;
  const { groupBy } = query;
  const filters = await linkFiltersOf(deps, caller, query);
  if (groupBy === undefined) return links.count(caller.workspace.id, filters);
  const counts = await links.countBy(caller.workspace.id, filters, groupBy);
  return counts.map(({ value, count }) => ({ [groupBy]: value, _count: count }));
}
