import { type LinkRecord, linkSight } from '@waymark/catalog';
import {
  ApiError,
  type BulkUpdateLinksBody,
  EXTERNAL_ID_PREFIX,
  fieldError,
  type Link,
  mapErrorFields,
  type UnchangedLink,
  type UpdateLinkBody,
} from '@waymark/contract';
import { contextOf, oneObject } from '../create/create-link.js';
import type { LinkCaller, LinkParts } from '../link-parts.js';
import { findLinks } from '../read/find-link.js';
import { bulkError } from '../routes/bulk-error.js';
import { changedLink } from './change-link.js';
import { folderRefusal, type LinkContext } from './named-fields.js';

/** Changes links that were found: all or, when `changeOne` throws, none. @returns those that still exist */
async function change(
  parts: LinkParts,
  caller: LinkCaller,
  found: readonly LinkRecord[],
  body: UpdateLinkBody,
  changeOne: (context: LinkContext, record: LinkRecord) => LinkRecord,
): Promise<LinkRecord[]> {
  const { links } = parts.catalog;
  // The folders and partners of the links count as well, and a link that names no domain keeps its own.
  const current = found.map(({ folderId, domain, partnerId }) => ({ folderId, domain, partnerId }));
  const context = await contextOf(parts, caller, [{ domain: found[0]?.domain, ...body }, ...current]);
  return links.updateMany(
    caller.workspace.id,
    found.map(({ id }) => id),
    (record) => changeOne(context, record),
  );
}

/** `PATCH /links/{linkId}` for a link that was found. @throws ApiError 400, 403, 404, 409 or 422 */
export async function updateFound(
  parts: LinkParts,
  caller: LinkCaller,
  found: LinkRecord,
  body: UpdateLinkBody,
): Promise<Link> {
  const { links } = parts.catalog;
  const [updated] = await change(parts, caller, [found], body, (context, record) =>
    changedLink(context, links, record, body, 'keep'),
  );
  if (updated === undefined) throw new ApiError('not_found', 'Link not found.');
  if (updated.updatedAt !== found.updatedAt) await parts.notifier.linkChanged('link.updated', updated);
  return oneObject(parts, caller, updated);
}

/** The links that a bulk request names. @throws ApiError bad_request when it names none, not_found when none exists */
function namedLinks(
  { catalog }: LinkParts,
  caller: LinkCaller,
  { linkIds = [], externalIds = [] }: Omit<BulkUpdateLinksBody, 'data'>,
): Promise<LinkRecord[]> {
  if (linkIds.length > 0) return findLinks(catalog, caller, linkIds);
  if (externalIds.length === 0) {
    throw fieldError('required', 'linkIds', 'linkIds or externalIds must be given');
  }
  return findLinks(
    catalog,
    caller,
    externalIds.map((id) => EXTERNAL_ID_PREFIX + id),
  );
}

/**
 * `PATCH /links/bulk`: the same change of up to a hundred links, in one insert.
 *
 * @returns the links that were changed, in the order given, then those in folders that the caller may not write; unknown and
 *   hidden ones are left out
 * @throws ApiError 400, 403, 404 or 422: then no link was changed
 */
export async function updateLinks(
  parts: LinkParts,
  caller: LinkCaller,
  { data, ...names }: BulkUpdateLinksBody,
): Promise<(Link | UnchangedLink)[]> {
  const { links } = parts.catalog;
  const found = await namedLinks(parts, caller, names);
  const refusals = new Map<string, ApiError>();
  const changeOne = (context: LinkContext, record: LinkRecord) => {
    const refusal = folderRefusal(context, context.references.folders.get(record.folderId ?? ''));
    if (refusal === undefined) return changedLink(context, links, record, data, 'replace');
    refusals.set(record.id, refusal);
    return record;
  };
  const records = await mapErrorFields(
    (field) => `data.${field}`,
    async () => (found.length === 0 ? [] : change(parts, caller, found, data, changeOne)),
  );
  if (records.length === 0) throw new ApiError('not_found', 'None of the links was found.');
  const objects = await links.objects(caller.workspace.id, records, linkSight(caller.apiKey));
  const unchanged = objects.flatMap((link): UnchangedLink[] => {
    const refusal = refusals.get(link.id);
    return refusal === undefined ? [] : [{ ...link, ...bulkError(link.id, refusal) }];
  });
  return [...objects.filter(({ id }) => !refusals.has(id)), ...unchanged];
}
