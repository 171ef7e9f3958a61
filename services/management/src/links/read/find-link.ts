import { API_READ, type Catalog, type LinkRecord, linkSight, normaliseKey } from '@waymark/catalog';
import { ApiError, fieldError, type LinkInfoQuery, parseExternalIdParameter, ROOT_KEY } from '@waymark/contract';
import { domainName } from '../../domains/domain-name.js';
import type { LinkCaller } from '../link-parts.js';

/** Another workspace's link counts as not found. */
async function findByAddress(
  catalog: Catalog,
  workspaceId: string,
  domain: string,
  key: string,
): Promise<LinkRecord | undefined> {
  const link = await catalog.links.findByAddress(domainName(domain), normaliseKey(key), API_READ);
  return link?.workspaceId === workspaceId ? link : undefined;
}

async function find(catalog: Catalog, workspaceId: string, query: LinkInfoQuery): Promise<LinkRecord | undefined> {
  if (query.linkId !== undefined) return catalog.links.find(workspaceId, query.linkId);
  if (query.externalId !== undefined) {
    return catalog.links.findByExternalId(workspaceId, parseExternalIdParameter(query.externalId));
  }
  if (query.domain !== undefined) return findByAddress(catalog, workspaceId, query.domain, query.key ?? ROOT_KEY);
  throw fieldError('required', 'linkId', 'linkId, externalId or domain must be given');
}

/**
 * The link a query names.
 *
 * @throws ApiError bad_request when it names none, not_found also for one in a folder that the caller must not see
 */
export async function requireLink(catalog: Catalog, caller: LinkCaller, query: LinkInfoQuery): Promise<LinkRecord> {
  const found = await find(catalog, caller.workspace.id, query);
  const [link] = found === undefined ? [] : await seenLinks(catalog, caller, [found]);
  if (link === undefined) throw new ApiError('not_found', 'Link not found.');
  return link;
}

/** Those of the links that the caller may see, in the order given. */
export function seenLinks(
  { hiddenFolders }: Pick<Catalog, 'hiddenFolders'>,
  { workspace, apiKey }: LinkCaller,
  links: readonly LinkRecord[],
): Promise<LinkRecord[]> {
  return hiddenFolders.seen(workspace.id, linkSight(apiKey), links);
}

/** Those of the links that `link_…` and `ext_…` ids name that are there for the caller, each once, in the order given. */
export async function findLinks(
  catalog: Catalog,
  caller: LinkCaller,
  references: readonly string[],
): Promise<LinkRecord[]> {
  return seenLinks(catalog, caller, await catalog.links.findMany(caller.workspace.id, references));
}
