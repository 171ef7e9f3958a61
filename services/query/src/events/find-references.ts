import {
  API_READ,
  type Catalog,
  checkFolderVisible,
  type KeyCaller,
  type LinkVisibility,
  linkVisibility,
  normaliseKey,
} from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { externalLinkIds, type LinkReference, type ParsedFilters } from '@waymark/event-query';

async function findLink(
  catalog: Catalog,
  { workspaceId, visibility }: Caller,
  reference: LinkReference,
): Promise<string> {
  const found =
    reference.by === 'externalId'
      ? await catalog.links.findByExternalId(workspaceId, reference.externalId)
      : await catalog.links.findByAddress(reference.domain, normaliseKey(reference.key), API_READ);
  // A link of another workspace, or in a hidden folder, gives the same 404 as one that does not exist.
  const own = found?.workspaceId === workspaceId ? [found] : [];
  const [link] = await catalog.hiddenFolders.visible(workspaceId, visibility, own);
  if (link !== undefined) return link.id;
  throw new ApiError('not_found', 'Link not found.');
}

/** Looks up the external ids in the `linkId` filter. An id without a link is absent from the result, so it matches no events. */
async function findLinksByExternalId(
  catalog: Catalog,
  workspaceId: string,
  parsed: ParsedFilters,
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    externalLinkIds(parsed).map(async (name) => [name, (await catalog.links.find(workspaceId, name))?.id] as const),
  );
  return new Map(found.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** The workspace and the permissions of a request. */
export interface Caller {
  readonly workspaceId: string;
  readonly visibility: LinkVisibility;
}

/** The workspace and the permissions of an API key. */
export function callerOf({ workspace, apiKey }: KeyCaller): Caller {
  return { workspaceId: workspace.id, visibility: linkVisibility(apiKey) };
}

async function checkFolder(catalog: Catalog, { workspaceId, visibility }: Caller, folderId: string): Promise<void> {
  checkFolderVisible(visibility, await catalog.folders.require(workspaceId, folderId));
}

/** The results of the look-ups for a request. */
export interface References {
  readonly linkId: string | undefined;
  readonly linkIdByExternalId: ReadonlyMap<string, string>;
  /** Undefined = the request has no external customer id, or there is no such customer. */
  readonly customerId: string | undefined;
  /** Whether the workspace has folders that the caller must not see. */
  readonly hidesFolders: boolean;
}

/**
 * Looks up the link, the customer and the folder that a request refers to.
 *
 * @throws ApiError 404 for a link or folder that does not exist, 403 for a folder that the caller must not see
 */
export async function findReferences(catalog: Catalog, caller: Caller, parsed: ParsedFilters): Promise<References> {
  const { workspaceId } = caller;
  const customer = parsed.filters.find(({ type }) => type === 'customer');
  const externalId =
    customer?.type === 'customer' && customer.customer.by === 'externalId' ? customer.customer.externalId : undefined;
  const [linkId, linkIdByExternalId, found, hidesFolders] = await Promise.all([
    parsed.link && findLink(catalog, caller, parsed.link),
    findLinksByExternalId(catalog, workspaceId, parsed),
    externalId === undefined ? undefined : catalog.customers.findByExternalId(workspaceId, externalId),
    catalog.hiddenFolders.anyFor(workspaceId, caller.visibility),
    parsed.folderId && checkFolder(catalog, caller, parsed.folderId),
  ]);
  return { linkId, linkIdByExternalId, customerId: found?.id, hidesFolders };
}
