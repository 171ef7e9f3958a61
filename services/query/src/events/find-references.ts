import { type Catalog, normaliseKey } from '@waymark/catalog';
import { ApiError, type Role } from '@waymark/contract';
import { type LinkReference, linkNames, type ParsedFilters } from '@waymark/event-query';

async function findLink(catalog: Catalog, workspaceId: string, reference: LinkReference): Promise<string> {
  const link =
    reference.by === 'externalId'
      ? await catalog.links.findByExternalId(workspaceId, reference.externalId)
      : await catalog.links.findByAddress(reference.domain, normaliseKey(reference.key));
  // What another workspace has is not found, like what nobody has.
  if (link?.workspaceId === workspaceId) return link.id;
  if (reference.by === 'externalId' && !reference.hasPrefix) {
    throw new ApiError('bad_request', 'custom: externalId: must begin with "ext_"');
  }
  throw new ApiError('not_found', 'Link not found.');
}

/** Ids of the links that `linkId` names by external ids; what is nobody's is left out, and matches nothing. */
async function findNamedLinks(
  catalog: Catalog,
  workspaceId: string,
  parsed: ParsedFilters,
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    linkNames(parsed).map(async (name) => [name, (await catalog.links.find(workspaceId, name))?.id] as const),
  );
  return new Map(found.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** Whose request it is. */
export interface Caller {
  readonly workspaceId: string;
  readonly role: Role;
}

async function checkFolder(catalog: Catalog, { workspaceId, role }: Caller, folderId: string): Promise<void> {
  const folder = await catalog.folders.get(workspaceId, folderId);
  if (folder === undefined) throw new ApiError('not_found', 'Folder not found.');
  if (folder.accessLevel === null && role !== 'owner') {
    throw new ApiError('forbidden', 'You are not allowed to see this folder.');
  }
}

/** Ids of what a request names in the caller's own words. */
export interface References {
  readonly linkId: string | undefined;
  readonly linkIdByName: ReadonlyMap<string, string>;
  /** Undefined = the request names none, or there is none. */
  readonly customerId: string | undefined;
}

/**
 * Looks up the one link, the customer and the folder that a request names (spec 2.2, 2.5).
 *
 * @throws ApiError 404 for a link or folder that is not there, 403 for a folder that the caller must not see, 400 for an
 *   external id that lacks its prefix and is not there
 */
export async function findReferences(catalog: Catalog, caller: Caller, parsed: ParsedFilters): Promise<References> {
  const { workspaceId } = caller;
  const customer = parsed.filters.find(({ type }) => type === 'customer');
  const externalId =
    customer?.type === 'customer' && customer.customer.by === 'externalId' ? customer.customer.externalId : undefined;
  const [linkId, linkIdByName, found] = await Promise.all([
    parsed.link && findLink(catalog, workspaceId, parsed.link),
    findNamedLinks(catalog, workspaceId, parsed),
    externalId === undefined ? undefined : catalog.customers.findByExternalId(workspaceId, externalId),
    parsed.folderId && checkFolder(catalog, caller, parsed.folderId),
  ]);
  return { linkId, linkIdByName, customerId: found?.id };
}
