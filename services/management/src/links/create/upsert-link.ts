import { type KeyCaller, linkVisibility, mergeUtm, normaliseUrl, withRewrittenQuery } from '@waymark/catalog';
import type { CreateLinkBody, Link } from '@waymark/contract';
import { checkUtmValues, hasUtmFields } from '@waymark/link-rules';
import { updateIfMatching } from '../change/update-link.js';
import type { LinkDeps } from '../link-deps.js';
import { createLink } from './create-link.js';
import { updateOrCreate } from './update-or-create.js';

/**
 * `PUT /links/upsert`: updates the oldest link with that destination, or creates one. Of concurrent requests for one destination, only
 * one creates a link. A link to the destination including the UTM values of the body is preferred to one without them, so that a
 * repeated request finds the link that it created or updated the first time. Requests with UTM fields may have re-encoded the query of that
 * link, so they search for that form as well.
 */
export async function upsertLink(deps: LinkDeps, caller: KeyCaller, body: CreateLinkBody): Promise<Link> {
  const { links } = deps.catalog;
  const workspaceId = caller.workspace.id;
  const url = normaliseUrl(body.url);
  if (url === undefined) return createLink(deps, caller, body);
  checkUtmValues(url, body);
  const merged = mergeUtm(url, body);
  const urls = [...new Set(hasUtmFields(body) ? [merged, url, withRewrittenQuery(merged)] : [url])];
  async function find() {
    for (const one of urls) {
      const found = await links.findByUrl(workspaceId, one, linkVisibility(caller.apiKey));
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return links.underLinkLocks(workspaceId, urls, () =>
    updateOrCreate({
      find,
      update: (found) => updateIfMatching(deps, caller, found, body, (link) => urls.includes(link.url)),
      create: () => createLink(deps, caller, body),
    }),
  );
}
