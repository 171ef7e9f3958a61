import type { LinkRecord } from '@waymark/catalog';
import {
  ApiError,
  type BulkUpdateLinksBody,
  EXTERNAL_ID_PREFIX,
  type Link,
  type UpdateLinkBody,
} from '@waymark/contract';
import { changedLink } from './change-link.js';
import { contextOf, oneObject } from './create-link.js';
import type { LinkCaller, LinkParts } from './link-parts.js';

/** Changes links that were found, all or none. @returns those that still exist */
async function change(
  parts: LinkParts,
  caller: LinkCaller,
  found: readonly LinkRecord[],
  body: UpdateLinkBody,
): Promise<LinkRecord[]> {
  const { links } = parts.catalog;
  // The folders that the links are in decide as well, and a link that names no domain keeps its own.
  const current = found.map(({ folderId, domain }) => ({ folderId, domain }));
  const context = await contextOf(parts, caller, [{ domain: found[0]?.domain, ...body }, ...current]);
  return links.updateMany(
    caller.workspace.id,
    found.map(({ id }) => id),
    (record) => changedLink(context, links, record, body),
  );
}

/** `PATCH /links/{linkId}` for a link that was found. @throws ApiError 400, 403, 404, 409 or 422 */
export async function updateFound(
  parts: LinkParts,
  caller: LinkCaller,
  found: LinkRecord,
  body: UpdateLinkBody,
): Promise<Link> {
  const [updated] = await change(parts, caller, [found], body);
  if (updated === undefined) throw new ApiError('not_found', 'Link not found.');
  if (updated.updatedAt !== found.updatedAt) await parts.notifier.linkChanged('link.updated', updated);
  return oneObject(parts, updated);
}

/** The links that a bulk request names. @throws ApiError bad_request when it names none, not_found when none exists */
function namedLinks(
  { catalog }: LinkParts,
  { workspace }: LinkCaller,
  body: BulkUpdateLinksBody,
): Promise<LinkRecord[]> {
  const { linkIds = [], externalIds = [] } = body;
  if (linkIds.length > 0) return catalog.links.findMany(workspace.id, linkIds);
  if (externalIds.length === 0) {
    throw new ApiError('bad_request', 'invalid_type: linkIds: name the links, by linkIds or by externalIds');
  }
  const references = externalIds.map((id) => (id.startsWith(EXTERNAL_ID_PREFIX) ? id : EXTERNAL_ID_PREFIX + id));
  return catalog.links.findMany(workspace.id, references);
}

/**
 * `PATCH /links/bulk`: the same change of up to a hundred links, in one insert (spec 4.7).
 *
 * @returns those that exist, in the order given
 * @throws ApiError 400, 403, 404 or 422: then no link was changed
 */
export async function updateLinks(parts: LinkParts, caller: LinkCaller, body: BulkUpdateLinksBody): Promise<Link[]> {
  const found = await namedLinks(parts, caller, body);
  const updated = found.length === 0 ? [] : await change(parts, caller, found, body.data);
  if (updated.length === 0) throw new ApiError('not_found', 'None of the links was found.');
  return parts.catalog.links.objects(caller.workspace.id, updated);
}
