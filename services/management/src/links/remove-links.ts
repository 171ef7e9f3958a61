import type { LinkRecord } from '@waymark/catalog';
import { ApiError, BULK_LINKS_MAX, csvItems, ROOT_KEY } from '@waymark/contract';
import type { LinkCaller, LinkParts } from './link-parts.js';
import { checkFolderAccess } from './named-fields.js';

const isRoot = ({ key }: LinkRecord) => key === ROOT_KEY;

/** Removes links that were found. @throws ApiError forbidden when one is in a folder to be left alone: then none is removed */
async function remove({ catalog }: LinkParts, caller: LinkCaller, found: readonly LinkRecord[]): Promise<LinkRecord[]> {
  const workspaceId = caller.workspace.id;
  const folders = await catalog.folders.getMany(
    workspaceId,
    found.flatMap(({ folderId }) => folderId ?? []),
  );
  return catalog.links.removeMany(
    workspaceId,
    found.map(({ id }) => id),
    (record) => {
      checkFolderAccess(caller, folders.get(record.folderId ?? ''));
      return !isRoot(record);
    },
  );
}

/** `DELETE /links/{linkId}` for a link that was found (spec 4.8). @throws ApiError forbidden for root links, not_found */
export async function removeFound(parts: LinkParts, caller: LinkCaller, found: LinkRecord): Promise<{ id: string }> {
  if (isRoot(found)) throw new ApiError('forbidden', 'The link of a domain itself goes with its domain only.');
  const [removed] = await remove(parts, caller, [found]);
  if (removed === undefined) throw new ApiError('not_found', 'Link not found.');
  await parts.notifier.linkChanged('link.deleted', removed);
  return { id: removed.id };
}

/** `DELETE /links/bulk`: unknown and root links are passed over. @throws ApiError bad_request, forbidden, 422 */
export async function removeLinks(
  parts: LinkParts,
  caller: LinkCaller,
  linkIds: string | undefined,
): Promise<{ deletedCount: number }> {
  const references = csvItems(linkIds ?? '');
  if (references.length === 0) throw new ApiError('bad_request', 'invalid_type: linkIds: name the links to delete');
  if (references.length > BULK_LINKS_MAX) {
    throw new ApiError('unprocessable_entity', `too_big: linkIds: at most ${BULK_LINKS_MAX} links`);
  }
  const found = await parts.catalog.links.findMany(caller.workspace.id, references);
  const removed = await remove(
    parts,
    caller,
    found.filter((link) => !isRoot(link)),
  );
  return { deletedCount: removed.length };
}
