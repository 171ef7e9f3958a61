import { API_READ, type LinkRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkRuleDeps } from './link-rule-deps.js';

/** The error for a domain that a workspace may not create links on. */
export function foreignDomain(slug: string): ApiError {
  return new ApiError('forbidden', `The domain "${slug}" does not belong to this workspace.`);
}

/**
 * Removes those of the links whose domain the workspace has lost since the request was checked. The removal or renaming of a domain changes
 * only the links that are stored by then; a later one would stay, and redirect for the next owner of the domain. Call it once the links
 * are stored, before the request is answered.
 *
 * @param results links that were just created, or moved to another domain, and the errors of others, which stay as they are
 * @returns the results, with an error in place of each link that was removed
 */
export async function removeFromLostDomains(
  { catalog, defaultDomain }: LinkRuleDeps,
  workspaceId: string,
  results: readonly (LinkRecord | ApiError)[],
): Promise<(LinkRecord | ApiError)[]> {
  const links = results.filter((result): result is LinkRecord => !(result instanceof ApiError));
  const slugs = [...new Set(links.map(({ domain }) => domain))].filter((slug) => slug !== defaultDomain);
  const owners = await Promise.all(slugs.map((slug) => catalog.domains.findBySlug(slug, API_READ)));
  const lost = new Set(slugs.filter((_slug, index) => owners[index]?.workspaceId !== workspaceId));
  if (lost.size === 0) return [...results];
  const removed = links.filter(({ domain }) => lost.has(domain)).map(({ id }) => id);
  await catalog.links.removeMany(workspaceId, removed);
  return results.map((result) =>
    result instanceof ApiError || !lost.has(result.domain) ? result : foreignDomain(result.domain),
  );
}
