import { API_READ, type Catalog, type LinkRecord, normaliseKey } from '@waymark/catalog';
import { ApiError, EXTERNAL_ID_PREFIX, type LinkInfoQuery, ROOT_KEY } from '@waymark/contract';
import { domainName } from '../domains/domain-name.js';

async function findByExternalId(catalog: Catalog, workspaceId: string, given: string): Promise<LinkRecord | undefined> {
  if (given.startsWith(EXTERNAL_ID_PREFIX)) return catalog.links.find(workspaceId, given);
  const link = await catalog.links.findByExternalId(workspaceId, given);
  if (link !== undefined) return link;
  throw new ApiError('bad_request', `externalId must carry the prefix "ext_": did you mean "ext_${given}"?`);
}

/** Another workspace's link counts as not found (spec 12.2). */
async function findByAddress(
  catalog: Catalog,
  workspaceId: string,
  domain: string,
  key: string,
): Promise<LinkRecord | undefined> {
  const link = await catalog.links.findByAddress(domainName(domain), normaliseKey(key), API_READ);
  return link?.workspaceId === workspaceId ? link : undefined;
}

function find(catalog: Catalog, workspaceId: string, query: LinkInfoQuery): Promise<LinkRecord | undefined> {
  if (query.linkId !== undefined) return catalog.links.find(workspaceId, query.linkId);
  if (query.externalId !== undefined) return findByExternalId(catalog, workspaceId, query.externalId);
  if (query.domain !== undefined) return findByAddress(catalog, workspaceId, query.domain, query.key ?? ROOT_KEY);
  throw new ApiError('bad_request', 'Name the link: linkId, externalId, or domain with key.');
}

/** The link a query names. @throws ApiError bad_request when it names none, not_found */
export async function requireLink(catalog: Catalog, workspaceId: string, query: LinkInfoQuery): Promise<LinkRecord> {
  const link = await find(catalog, workspaceId, query);
  if (link === undefined) throw new ApiError('not_found', 'Link not found.');
  return link;
}
