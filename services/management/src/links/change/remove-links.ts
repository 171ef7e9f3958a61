import type { KeyCaller, LinkRecord } from '@waymark/catalog';
import {
  ApiError,
  BULK_LINKS_MAX,
  type BulkDeleteAnswer,
  EXTERNAL_ID_PREFIX,
  fieldError,
  RESOURCE_PREFIX,
  ROOT_KEY,
  type UndeletedLink,
} from '@waymark/contract';
import { folderWriteRefusal } from '@waymark/link-rules';
import type { LinkDeps } from '../link-deps.js';
import { findLinks } from '../read/find-link.js';
import { bulkError } from '../routes/bulk-error.js';

/** Whether it is the root link of a domain, which is deleted with its domain only. */
const isRoot = ({ key }: LinkRecord) => key === ROOT_KEY;

/** Deletes links. @param refuse called for each link in a folder without write access, which is kept; if it throws, no link is deleted */
async function removeRecords(
  { catalog }: LinkDeps,
  caller: KeyCaller,
  found: readonly LinkRecord[],
  refuse: (record: LinkRecord, refusal: ApiError) => void,
): Promise<LinkRecord[]> {
  const workspaceId = caller.workspace.id;
  const folders = await catalog.folders.getMany(
    workspaceId,
    found.flatMap(({ folderId }) => folderId ?? []),
  );
  // Another request may have moved a link meanwhile.
  const folderOf = async ({ folderId }: LinkRecord) =>
    folderId === null ? undefined : (folders.get(folderId) ?? (await catalog.folders.get(workspaceId, folderId)));
  return catalog.links.removeMany(
    workspaceId,
    found.map(({ id }) => id),
    async (record) => {
      const refusal = folderWriteRefusal(caller, await folderOf(record));
      if (refusal !== undefined) refuse(record, refusal);
      return refusal === undefined && !isRoot(record);
    },
  );
}

/** `DELETE /links/{linkId}`, after the link was found. @throws ApiError forbidden for root links and in folders without write access, not_found */
export async function removeFoundLink(deps: LinkDeps, caller: KeyCaller, found: LinkRecord): Promise<{ id: string }> {
  if (isRoot(found)) throw new ApiError('forbidden', 'The link of a domain itself goes with its domain only.');
  const [removed] = await removeRecords(deps, caller, [found], (_record, refusal) => {
    throw refusal;
  });
  if (removed === undefined) throw new ApiError('not_found', 'Link not found.');
  await deps.notifier.linkChanged('link.deleted', removed);
  return { id: removed.id };
}

const isExternal = (item: string | undefined) => item?.startsWith(EXTERNAL_ID_PREFIX) === true;

/** The items of `linkIds`, without blank ones. An external id may end with a blank, which is kept: the id without it may be another link's. */
function linkIdItems(linkIds: string): string[] {
  const items = linkIds.split(',').map((text) => text.trimStart());
  return items.map((item) => (isExternal(item) ? item : item.trimEnd())).filter((item) => item !== '');
}

/**
 * Checks that no item without a prefix follows an external id. It would be the rest of an external id with a comma, whose beginning may be
 * the id of another link.
 *
 * @throws ApiError unprocessable_entity
 */
function checkUndivided(items: readonly string[]): void {
  const isRest = (item: string, index: number) =>
    isExternal(items[index - 1]) && !isExternal(item) && !item.startsWith(RESOURCE_PREFIX.link);
  if (!items.some(isRest)) return;
  const rule = `must have "${RESOURCE_PREFIX.link}" or "${EXTERNAL_ID_PREFIX}" in front of each id; an external id with a comma cannot be named here`;
  throw fieldError('invalid_format', 'linkIds', rule);
}

/** `DELETE /links/bulk`: unknown, hidden and root links are skipped. @throws ApiError bad_request, 422 */
export async function removeLinks(
  deps: LinkDeps,
  caller: KeyCaller,
  linkIds: string | undefined,
): Promise<BulkDeleteAnswer> {
  const references = linkIdItems(linkIds ?? '');
  if (references.length === 0) throw fieldError('required', 'linkIds', 'is required');
  if (references.length > BULK_LINKS_MAX) {
    throw fieldError('too_big', 'linkIds', `must have at most ${BULK_LINKS_MAX} items`);
  }
  checkUndivided(references);
  const found = await findLinks(deps.catalog, caller, references);
  const errors: UndeletedLink[] = [];
  const removed = await removeRecords(
    deps,
    caller,
    found.filter((link) => !isRoot(link)),
    ({ id }, refusal) => errors.push(bulkError(id, refusal)),
  );
  return { deletedCount: removed.length, ...(errors.length === 0 ? {} : { errors }) };
}
