import type { KeyCaller, LinkRecord } from '@waymark/catalog';
import {
  ApiError,
  BULK_LINKS_MAX,
  type BulkDeleteAnswer,
  csvItems,
  fieldError,
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
  return catalog.links.removeMany(
    workspaceId,
    found.map(({ id }) => id),
    (record) => {
      const refusal = folderWriteRefusal(caller, folders.get(record.folderId ?? ''));
      if (refusal !== undefined) refuse(record, refusal);
      return refusal === undefined && !isRoot(record);
    },
  );
}

/** `DELETE /links/{linkId}`, after the link was found. @throws ApiError forbidden for root links, not_found */
export async function removeFoundLink(deps: LinkDeps, caller: KeyCaller, found: LinkRecord): Promise<{ id: string }> {
  if (isRoot(found)) throw new ApiError('forbidden', 'The link of a domain itself goes with its domain only.');
  const [removed] = await removeRecords(deps, caller, [found], (_record, refusal) => {
    throw refusal;
  });
  if (removed === undefined) throw new ApiError('not_found', 'Link not found.');
  await deps.notifier.linkChanged('link.deleted', removed);
  return { id: removed.id };
}

/** `DELETE /links/bulk`: unknown, hidden and root links are skipped. @throws ApiError bad_request, 422 */
export async function removeLinks(
  deps: LinkDeps,
  caller: KeyCaller,
  linkIds: string | undefined,
): Promise<BulkDeleteAnswer> {
  const references = csvItems(linkIds ?? '');
  if (references.length === 0) throw fieldError('required', 'linkIds', 'is required');
  if (references.length > BULK_LINKS_MAX) {
    throw fieldError('too_big', 'linkIds', `must have at most ${BULK_LINKS_MAX} items`);
  }
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
