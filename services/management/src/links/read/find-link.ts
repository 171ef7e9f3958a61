import { API_READ, type Catalog, type KeyCaller, type LinkRecord, normaliseKey, visibleLinks } from '@waymark/catalog';
import {
  ApiError,
  domainName,
  fieldError,
  type LinkInfoQuery,
  parseExternalIdParameter,
  ROOT_KEY,
} from '@waymark/contract';

/** Finds a link of the workspace by domain and key. */
async function findByAddress(
  catalog: Catalog,
  workspaceId: string,
  domain: string,
  key: string,
): Promise<LinkRecord | undefined> {
  const link = await catalog.links.findByAddress(domainName(domain), normaliseKey(key), API_READ);
  return link?.workspaceId === workspaceId ? link : undefined;
}

/** The link that a query selects; undefined when there is none. @throws ApiError bad_request when the query has no selector */
async function find(catalog: Catalog, workspaceId: string, query: LinkInfoQuery): Promise<LinkRecord | undefined> {
  if (query.linkId !== undefined) return catalog.links.find(workspaceId, query.linkId);
  if (query.externalId !== undefined) {
    return catalog.links.findByExternalId(workspaceId, parseExternalIdParameter(query.externalId));
  }
  if (query.domain !== undefined) return findByAddress(catalog, workspaceId, query.domain, query.key ?? ROOT_KEY);
  throw fieldError('required', 'linkId', 'linkId, externalId or domain must be given');
}

/**
 * The link that a query selects.
 *
 * @throws ApiError bad_request when the query has no selector, not_found also for a link in a folder hidden from the caller
 */
export async function requireLink(catalog: Catalog, caller: KeyCaller, query: LinkInfoQuery): Promise<LinkRecord> {
  const found = await find(catalog, caller.workspace.id, query);
  const [link] = found === undefined ? [] : await visibleLinks(catalog, caller, [found]);
  if (link === undefined) throw new ApiError('not_found', 'Link not found.');
  return link;
}

/** The visible links with these `link_…` and `ext_…` ids, each once, in the order given. */
export async function findLinks(
  catalog: Catalog,
  caller: KeyCaller,
  references: readonly string[],
): Promise<LinkRecord[]> {
  return visibleLinks(catalog, caller, await catalog.links.findMany(caller.workspace.id, references));
}
