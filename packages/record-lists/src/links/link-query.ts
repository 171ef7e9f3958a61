import {
  API_READ,
  type Catalog,
  checkFolderVisible,
  foreignDomain,
  type KeyCaller,
  type LinkFilters,
  linkVisibility,
  visibleLinks,
} from '@waymark/catalog';
import {
  ApiError,
  csvItems,
  domainName,
  type LinkFilterQuery,
  type ListLinksQuery,
  NO_FOLDER,
} from '@waymark/contract';
import { type CursorQuery, cursorOf } from '../record-cursor.js';

/** Dependencies of lists of links. */
export interface LinkListDeps {
  readonly catalog: Catalog;
  /** The default domain of the installation, which every workspace may use; undefined: none. */
  readonly defaultDomain: string | undefined;
}

async function checkDomain({ catalog, defaultDomain }: LinkListDeps, workspaceId: string, slug: string): Promise<void> {
  if (slug === defaultDomain) return;
  const domain = await catalog.domains.findBySlug(slug, API_READ);
  if (domain === undefined) throw new ApiError('not_found', 'Domain not found.');
  if (domain.workspaceId !== workspaceId) throw foreignDomain(slug);
}

async function checkFolder(
  { catalog }: LinkListDeps,
  { workspace, apiKey }: KeyCaller,
  folderId: string,
): Promise<void> {
  checkFolderVisible(linkVisibility(apiKey), await catalog.folders.require(workspace.id, folderId));
}

/** Ids of the tags in all tag parameters of a query; undefined when it has none. Unknown tag names are skipped. */
async function tagIdsOf({ catalog }: LinkListDeps, workspaceId: string, query: LinkFilterQuery) {
  const { tagId, tagIds, tagNames } = query;
  if (tagId === undefined && tagIds === undefined && tagNames === undefined) return undefined;
  const names = csvItems(tagNames ?? '');
  const named = await Promise.all(names.map((name) => catalog.tags.findByName(workspaceId, name)));
  return [...csvItems(tagIds ?? ''), ...(tagId ? [tagId] : []), ...named.flatMap((tag) => tag?.id ?? [])];
}

async function linkIdsOf({ catalog }: LinkListDeps, workspaceId: string, linkIds: string | undefined) {
  if (linkIds === undefined) return undefined;
  return (await catalog.links.findMany(workspaceId, csvItems(linkIds))).map(({ id }) => id);
}

/**
 * Converts the filters of a query to those of the catalog, and checks that the caller may use its domain and folder.
 *
 * @throws ApiError 404 for an unknown domain or folder, 403 for one without access
 */
export async function linkFiltersOf(
  deps: LinkListDeps,
  caller: KeyCaller,
  query: LinkFilterQuery,
): Promise<LinkFilters> {
  const workspaceId = caller.workspace.id;
  const { search, userId, tenantId, partnerId } = query;
  const domain = query.domain && domainName(query.domain);
  const folderId = query.folderId === NO_FOLDER ? null : query.folderId;
  // One after the other, so that the same request always has the same error.
  const checkPlaces = async () => {
    if (domain !== undefined) await checkDomain(deps, workspaceId, domain);
    if (folderId) await checkFolder(deps, caller, folderId);
  };
  const [tagIds, ids, hidesFolders] = await Promise.all([
    tagIdsOf(deps, workspaceId, query),
    linkIdsOf(deps, workspaceId, query.linkIds),
    deps.catalog.hiddenFolders.anyFor(workspaceId, linkVisibility(caller.apiKey)),
    checkPlaces(),
  ]);
  const named = { domain, tagIds, folderId, search, userId, tenantId, partnerId, ids };
  return { ...named, hasTags: query.withTags, hidesFolders, showArchived: query.showArchived ?? false };
}

/** Whether the id belongs to a visible or a deleted link. */
async function linkExistsOrExisted(catalog: Catalog, caller: KeyCaller, id: string): Promise<boolean> {
  const link = await catalog.links.find(caller.workspace.id, id);
  if (link === undefined) return catalog.links.everExisted(caller.workspace.id, id);
  return (await visibleLinks(catalog, caller, [link])).length > 0;
}

/** The order of a list. Clients of a time before `sortBy` always send `sort=createdAt`, so that value is no request for an order. */
export function linkSortOf({ sort, sortBy }: Partial<Pick<ListLinksQuery, 'sort' | 'sortBy'>>) {
  return sort === undefined || sort === 'createdAt' ? (sortBy ?? 'createdAt') : sort;
}

/** The cursor of a query of links. @throws ApiError 422; see {@link cursorOf} */
export function linkCursorOf(
  { catalog }: LinkListDeps,
  caller: KeyCaller,
  query: CursorQuery & Partial<Pick<ListLinksQuery, 'sort' | 'sortBy'>>,
) {
  return cursorOf('link', query, linkSortOf(query), (id) => linkExistsOrExisted(catalog, caller, id));
}
