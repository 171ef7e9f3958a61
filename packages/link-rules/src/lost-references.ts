import { isDeepStrictEqual } from 'node:util';
import { API_READ, foreignDomain, type LinkRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkRuleDeps } from './link-rule-deps.js';

// The removal of a domain, folder, tag or webhook changes the links that are stored at that time. A concurrent request that was checked
// before the removal, and stores its links after it, would leave references to a record that no longer exists. Therefore each request
// checks its references again after its links are stored.

/** What became of one link of a request: the stored record, or the error that refused it. */
type Result = LinkRecord | ApiError;

const isLink = (result: Result): result is LinkRecord => !(result instanceof ApiError);

/** Those of the domains that do not belong to the workspace any more, because they were removed or renamed meanwhile. */
async function lostDomains(
  { catalog, defaultDomain }: LinkRuleDeps,
  workspaceId: string,
  domains: readonly string[],
): Promise<ReadonlySet<string>> {
  const slugs = [...new Set(domains)].filter((slug) => slug !== defaultDomain);
  const owners = await Promise.all(slugs.map((slug) => catalog.domains.findBySlug(slug, API_READ)));
  return new Set(slugs.filter((_slug, index) => owners[index]?.workspaceId !== workspaceId));
}

/** Removes new links whose domain was removed or renamed meanwhile. They would redirect for the next owner of the domain. */
async function removeFromLostDomains(
  deps: LinkRuleDeps,
  workspaceId: string,
  results: readonly Result[],
): Promise<readonly Result[]> {
  const links = results.filter(isLink);
  const domains = links.map(({ domain }) => domain);
  const lost = await lostDomains(deps, workspaceId, domains);
  if (lost.size === 0) return results;
  const removed = links.filter(({ domain }) => lost.has(domain)).map(({ id }) => id);
  await deps.catalog.links.removeMany(workspaceId, removed);
  return results.map((result) => (isLink(result) && lost.has(result.domain) ? foreignDomain(result.domain) : result));
}

/** A change that has moved a link to another domain. */
export interface Move {
  /** The link as it was before, and as the change has stored it. */
  readonly before: LinkRecord;
  readonly stored: LinkRecord;
  /** The id of the domain that the link has left; undefined for the default domain of the installation. */
  readonly homeId: string | undefined;
}

/** The link with the fields that it had before the move, except those that another request has changed since. */
function withoutMove(link: LinkRecord, { before, stored }: Move): LinkRecord {
  const fields = Object.keys({ ...before, ...stored }) as (keyof LinkRecord)[];
  const own = fields.filter((field) => isDeepStrictEqual(link[field], stored[field]));
  return { ...link, ...Object.fromEntries(own.map((field) => [field, before[field]])) };
}

/** How often a link is put back, if its former domain is renamed each time. */
const RETURNS_MAX = 5;

/**
 * Puts a link back whose new domain was removed or renamed meanwhile, as it was before the move, on the address that its former domain has
 * now. A link that has no place there any more, because that domain was removed as well or the key is taken, is removed.
 *
 * @returns the error that refuses the move; or, if another request has moved or removed the link since, the link after the move
 */
async function withdraw(deps: LinkRuleDeps, workspaceId: string, move: Move): Promise<Result> {
  const { links, domains } = deps.catalog;
  const { before, stored, homeId } = move;
  let lost = stored.domain;
  for (let rest = RETURNS_MAX; rest > 0; rest--) {
    const domain = homeId === undefined ? before.domain : (await domains.get(workspaceId, homeId))?.slug;
    const back = (link: LinkRecord) =>
      link.domain === lost && domain !== undefined ? { ...withoutMove(link, move), domain } : link;
    const backWithoutExternalId = (link: LinkRecord) => ({ ...back(link), externalId: link.externalId });
    const putBack = (change: (link: LinkRecord) => LinkRecord) =>
      links.updateMany(workspaceId, [stored.id], change).catch((err: unknown) => {
        if (err instanceof ApiError && err.code === 'conflict') return undefined;
        throw err;
      });
    // If another link has taken its former externalId, the link has the new one there.
    const returned = (await putBack(back)) ?? (await putBack(backWithoutExternalId));
    if (returned === undefined || domain === undefined) {
      await links.removeMany(workspaceId, [stored.id], (link) => link.domain === lost);
      return new ApiError('not_found', 'Link not found.');
    }
    const [link = stored] = returned;
    if (link.domain !== domain) return link;
    await detachFromLost(deps, workspaceId, returned);
    if (homeId === undefined || !(await lostDomains(deps, workspaceId, [domain])).has(domain)) break;
    lost = domain;
  }
  return foreignDomain(stored.domain);
}

/** Puts links back that were moved to a domain which was removed or renamed meanwhile. @returns the results, with the errors of these moves */
async function returnFromLostDomains(
  deps: LinkRuleDeps,
  workspaceId: string,
  results: readonly LinkRecord[],
  moves: readonly Move[],
): Promise<readonly Result[]> {
  const domains = moves.map(({ stored }) => stored.domain);
  const lost = await lostDomains(deps, workspaceId, domains);
  const withdrawals = moves
    .filter(({ stored }) => lost.has(stored.domain))
    .map(async (move) => [move.stored.id, await withdraw(deps, workspaceId, move)] as const);
  const byId = new Map(await Promise.all(withdrawals));
  return results.map((link) => byId.get(link.id) ?? link);
}

/** The folders, tags and webhooks to which links refer and that do not exist. */
async function lostReferences({ catalog }: LinkRuleDeps, workspaceId: string, links: readonly LinkRecord[]) {
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
  return { folders, tags, webhooks, isAttached };
}

/**
 * Detaches links from folders, tags and webhooks that were removed meanwhile.
 *
 * @returns the results, with the links as they are stored now
 */
async function detachFromLost(
  deps: LinkRuleDeps,
  workspaceId: string,
  results: readonly Result[],
): Promise<readonly Result[]> {
  const links = results.filter(isLink);
  const { isAttached } = await lostReferences(deps, workspaceId, links);
  const attached = links.filter(isAttached).map(({ id }) => id);
  if (attached.length === 0) return results;
  const detached = await deps.catalog.links.updateMany(workspaceId, attached, async (link) => {
    // Looked up again under the lock: a webhook is attached to its links before it is stored.
    const lost = await lostReferences(deps, workspaceId, [link]);
    if (!lost.isAttached(link)) return link;
    return {
      ...link,
      folderId: lost.folders.has(link.folderId ?? '') ? null : link.folderId,
      tagIds: link.tagIds.filter((id) => !lost.tags.has(id)),
      webhookIds: link.webhookIds.filter((id) => !lost.webhooks.has(id)),
    };
  });
  const byId = new Map(detached.map((link) => [link.id, link]));
  return results.map((result) => (isLink(result) ? (byId.get(result.id) ?? result) : result));
}

/**
 * Removes or detaches links that a request has created, if a record to which they refer was removed after the request was checked. Call it
 * before the request is answered.
 *
 * @param results links that were created, and the errors of others, which stay as they are
 * @returns the links as they are stored, with an error in place of each that was removed together with its domain
 */
export async function settleStoredLinks(
  deps: LinkRuleDeps,
  workspaceId: string,
  results: readonly Result[],
): Promise<readonly Result[]> {
  return detachFromLost(deps, workspaceId, await removeFromLostDomains(deps, workspaceId, results));
}

/**
 * Does the same for links that a request has changed: those that it has moved to a domain that was removed or renamed are put back, because a
 * request that is refused changes nothing.
 *
 * @returns the links as they are stored, with an error in place of each whose change was withdrawn
 */
export async function settleChangedLinks(
  deps: LinkRuleDeps,
  workspaceId: string,
  links: readonly LinkRecord[],
  moves: readonly Move[],
): Promise<readonly Result[]> {
  return detachFromLost(deps, workspaceId, await returnFromLostDomains(deps, workspaceId, links, moves));
}
