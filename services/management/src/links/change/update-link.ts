import { type KeyCaller, type LinkRecord, linkVisibility } from '@waymark/catalog';
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
import {
  changedLink,
  changeFoundLinks,
  checkBulkImage,
  folderWriteRefusal,
  type LinkContext,
  linkContext,
  withoutFoundAddress,
  withoutShownTag,
} from '@waymark/link-rules';
import { finishChange } from '../finish-change.js';
import type { LinkDeps } from '../link-deps.js';
import { findLinks } from '../read/find-link.js';
import { linkObjectFor } from '../read/read-link-object.js';
import { bulkError } from '../routes/bulk-error.js';

interface StoredChanges {
  /** The links as they were when they were changed, by id. */
  readonly before: ReadonlyMap<string, LinkRecord>;
  /** The updated links, without those that were deleted meanwhile. */
  readonly stored: readonly LinkRecord[];
  /** Completes the changes. @returns the links as they are then, with an error in place of each whose change was withdrawn */
  readonly finish: () => Promise<readonly (LinkRecord | ApiError)[]>;
}

/** @throws the first error of the results */
function withoutErrors(results: readonly (LinkRecord | ApiError)[]): LinkRecord[] {
  return results.map((result) => {
    if (result instanceof ApiError) throw result;
    return result;
  });
}

/** Stores changes of links. If `changeOne` throws, none is updated. */
async function storeChanges(
  deps: LinkDeps,
  caller: KeyCaller,
  found: readonly LinkRecord[],
  body: UpdateLinkBody,
  changeOne: (context: LinkContext, record: LinkRecord) => LinkRecord,
): Promise<StoredChanges> {
  const { abTests } = deps.catalog;
  // The rules also need the current folders and partners of the links, and the current domain if the body has none.
  const contextOf = (records: readonly LinkRecord[]) => {
    const current = records.map(({ folderId, domain, partnerId }) => ({ folderId, domain, partnerId }));
    return linkContext(deps, caller, [{ domain: records[0]?.domain, ...body }, ...current]);
  };
  // An upsert sends the `url` that the link already has, which ends no A/B test.
  const isChosen = (next: LinkRecord, record: LinkRecord | undefined) =>
    body.url !== undefined && (next.url !== record?.url || next.testCompletedAt !== record.testCompletedAt);
  const { before, stored, settle } = await changeFoundLinks(deps, caller.workspace.id, {
    found,
    context: await contextOf(found),
    contextFor: (record) => contextOf([record]),
    async change(context, record) {
      const next = changeOne(context, record);
      if (isChosen(next, record)) await abTests.noteChoice(next);
      // If the request also sets the destination, the writer has no winner to choose.
      if (body.url === undefined && next.testCompletedAt !== record.testCompletedAt) await abTests.noteEnd(next);
      return next;
    },
  });
  async function finish() {
    const settled = await settle();
    const kept = settled.filter((link): link is LinkRecord => !(link instanceof ApiError));
    const chosen = kept.filter((link) => isChosen(link, before.get(link.id)));
    await Promise.all(chosen.map(abTests.keepDestination));
    return settled;
  }
  return { before, stored, finish };
}

/**
 * Changes a link that was found by some of its fields.
 *
 * @param isMatching whether the link still has these fields
 * @returns undefined, and changes nothing, if it has not, or is removed
 * @throws ApiError 400, 403, 404, 409, 422 or 429
 */
export async function updateIfMatching(
  deps: LinkDeps,
  caller: KeyCaller,
  found: LinkRecord,
  sent: UpdateLinkBody,
  isMatching: (record: LinkRecord) => boolean,
): Promise<Link | undefined> {
  const { links } = deps.catalog;
  const body = withoutFoundAddress(found, sent);
  await deps.notifier.assertQueueCapacity(caller.workspace.id, 'link.updated');
  let isFound = false;
  const { before, stored, finish } = await storeChanges(deps, caller, [found], body, (context, record) => {
    isFound = isMatching(record);
    return isFound ? changedLink(context, links, record, withoutShownTag(record, body), 'keep') : record;
  });
  if (!isFound) return undefined;
  const isChanged = ({ id, updatedAt }: LinkRecord) => updatedAt !== before.get(id)?.updatedAt;
  const [updated] = withoutErrors(await finishChange(deps, 'link.updated', stored.find(isChanged), finish));
  if (updated === undefined) return undefined;
  if (isChanged(updated)) await deps.notifier.linkChanged('link.updated', updated);
  return linkObjectFor(deps, caller, updated);
}

/** `PATCH /links/{linkId}`, after the link was found. @throws ApiError 400, 403, 404, 409, 422 or 429 */
export async function updateFoundLink(
  deps: LinkDeps,
  caller: KeyCaller,
  found: LinkRecord,
  body: UpdateLinkBody,
): Promise<Link> {
  const updated = await updateIfMatching(deps, caller, found, body, () => true);
  if (updated === undefined) throw new ApiError('not_found', 'Link not found.');
  return updated;
}

/**
 * The visible links with these external ids, each once, in the order given. An id that begins with `ext_` selects the link whose external id is
 * exactly that; if there is none, the link whose external id is the rest.
 */
async function findByExternalIds(
  { catalog }: LinkDeps,
  caller: KeyCaller,
  externalIds: readonly string[],
): Promise<LinkRecord[]> {
  const references = externalIds.flatMap((id) =>
    id.startsWith(EXTERNAL_ID_PREFIX) ? [EXTERNAL_ID_PREFIX + id, id] : [EXTERNAL_ID_PREFIX + id],
  );
  const found = await findLinks(catalog, caller, references);
  const byExternalId = new Map(found.map((link) => [link.externalId, link]));
  const selected = externalIds.flatMap((id) => {
    const bare = id.startsWith(EXTERNAL_ID_PREFIX) ? id.slice(EXTERNAL_ID_PREFIX.length) : id;
    return byExternalId.get(id) ?? byExternalId.get(bare) ?? [];
  });
  return [...new Set(selected)];
}

/** The links that a bulk request selects. @throws ApiError bad_request when it has neither ids nor external ids */
function selectLinks(
  deps: LinkDeps,
  caller: KeyCaller,
  { linkIds = [], externalIds = [] }: Omit<BulkUpdateLinksBody, 'data'>,
): Promise<LinkRecord[]> {
  if (linkIds.length > 0) return findLinks(deps.catalog, caller, linkIds);
  if (externalIds.length === 0) {
    throw fieldError('required', 'linkIds', 'linkIds or externalIds must be given');
  }
  return findByExternalIds(deps, caller, externalIds);
}

/**
 * `PATCH /links/bulk`: applies one change to up to a hundred links, in one insert.
 *
 * @returns the updated links in the order given, then those in folders without write access; unknown and hidden ones are left out
 * @throws ApiError 400, 403, 404, 422 or 429, in which case no link was changed
 */
export async function updateLinks(
  deps: LinkDeps,
  caller: KeyCaller,
  { data, ...names }: BulkUpdateLinksBody,
): Promise<(Link | UnchangedLink)[]> {
  const { links } = deps.catalog;
  const found = await selectLinks(deps, caller, names);
  const refusals = new Map<string, ApiError>();
  const changeOne = (context: LinkContext, record: LinkRecord) => {
    const refusal = folderWriteRefusal(context, context.references.folders.get(record.folderId ?? ''));
    if (refusal !== undefined) {
      refusals.set(record.id, refusal);
      return record;
    }
    const next = changedLink(context, links, record, data, 'replace');
    if (data.image !== undefined) checkBulkImage(next);
    return next;
  };
  const records = await mapErrorFields(
    (field) => `data.${field}`,
    async () => {
      if (found.length === 0) return [];
      const { finish } = await storeChanges(deps, caller, found, data, changeOne);
      return withoutErrors(await finish());
    },
  );
  if (records.length === 0) throw new ApiError('not_found', 'None of the links was found.');
  const objects = await links.objects(caller.workspace.id, records, linkVisibility(caller.apiKey));
  const unchanged = objects.flatMap((link): UnchangedLink[] => {
    const refusal = refusals.get(link.id);
    return refusal === undefined ? [] : [{ ...link, ...bulkError(link.id, refusal) }];
  });
  return [...objects.filter(({ id }) => !refusals.has(id)), ...unchanged];
}
