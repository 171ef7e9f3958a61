import { API_READ, foreignDomain, type LinkRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkRuleDeps } from './link-rule-deps.js';

// The removal of a domain, folder, tag or webhook changes the links that are stored at that time. A concurrent request that was checked
// before the removal, and stores its links after it, would leave references to a record that no longer exists. Therefore each request
// checks its references again after its links are stored.

/** What became of one link of a request: the stored record, or the error that refused it. */
type Result = LinkRecord | ApiError;

const isLink = (result: Result): result is LinkRecord => !(result instanceof ApiError);

/** Removes the links whose domain was removed or renamed meanwhile. They would redirect for the next owner of the domain. */
async function removeFromLostDomains(
  { catalog, defaultDomain }: LinkRuleDeps,
  workspaceId: string,
  results: readonly Result[],
): Promise<readonly Result[]> {
  const links = results.filter(isLink);
  const slugs = [...new Set(links.map(({ domain }) => domain))].filter((slug) => slug !== defaultDomain);
  const owners = await Promise.all(slugs.map((slug) => catalog.domains.findBySlug(slug, API_READ)));
  const lost = new Set(slugs.filter((_slug, index) => owners[index]?.workspaceId !== workspaceId));
  if (lost.size === 0) return results;
  const removed = links.filter(({ domain }) => lost.has(domain)).map(({ id }) => id);
  await catalog.links.removeMany(workspaceId, removed);
  return results.map((result) => (isLink(result) && lost.has(result.domain) ? foreignDomain(result.domain) : result));
}

/**
 * Detaches links from folders, tags and webhooks that were removed meanwhile.
 *
 * @returns the results, with the links as they are stored now
 */
export async function detachFromLost(
  { catalog }: LinkRuleDeps,
  workspaceId: string,
  results: readonly Result[],
): Promise<readonly Result[]> {
  const links = results.filter(isLink);
  /** The ids whose record does not exist. */
  const lostOf = async (
    ids: readonly string[],
    getMany: (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, unknown>>,
  ) => {
    const distinct = [...new Set(ids)];
    const present = distinct.length === 0 ? new Map() : await getMany(workspaceId, distinct);
    return new Set(distinct.filter((id) => !present.has(id)));
  };
  const [folders, tags, webhooks] = await Promise.all([
    lostOf(
      links.flatMap(({ folderId }) => folderId ?? []),
      catalog.folders.getMany,
    ),
    lostOf(
      links.flatMap(({ tagIds }) => tagIds),
      catalog.tags.getMany,
    ),
    lostOf(
      links.flatMap(({ webhookIds }) => webhookIds),
      catalog.webhooks.getMany,
    ),
  ]);
  const isAttached = ({ folderId, tagIds, webhookIds }: LinkRecord) =>
    folders.has(folderId ?? '') || tagIds.some((id) => tags.has(id)) || webhookIds.some((id) => webhooks.has(id));
  const attached = links.filter(isAttached).map(({ id }) => id);
  if (attached.length === 0) return results;
  const detached = await catalog.links.updateMany(workspaceId, attached, (link) =>
    isAttached(link)
      ? {
          ...link,
          folderId: folders.has(link.folderId ?? '') ? null : link.folderId,
          tagIds: link.tagIds.filter((id) => !tags.has(id)),
          webhookIds: link.webhookIds.filter((id) => !webhooks.has(id)),
        }
      : link,
  );
  const byId = new Map(detached.map((link) => [link.id, link]));
  return results.map((result) => (isLink(result) ? (byId.get(result.id) ?? result) : result));
}

/**
 * Removes or detaches links that a request has stored, if a record to which they refer was removed after the request was checked. Call it
 * before the request is answered.
 *
 * @param results links that were created, or moved to another domain, and the errors of others, which stay as they are
 * @returns the links as they are stored, with an error in place of each that was removed together with its domain
 */
export async function settleStoredLinks(
  deps: LinkRuleDeps,
  workspaceId: string,
  results: readonly Result[],
): Promise<readonly Result[]> {
  return detachFromLost(deps, workspaceId, await removeFromLostDomains(deps, workspaceId, results));
}
