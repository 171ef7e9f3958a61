import { linkSight, mergeUtm, normaliseUrl } from '@waymark/catalog';
import type { CreateLinkBody, Link } from '@waymark/contract';
import { updateFound } from '../change/update-link.js';
import type { LinkCaller, LinkParts } from '../link-parts.js';
import { createLink } from './create-link.js';

/**
 * `PUT /links/upsert`: changes the oldest link with that destination, or creates one. Of many at once for one destination a
 * single one creates. A link that leads to the destination with the UTM values of the body comes before one that leads to it
 * without them: a repetition finds the link that it made or changed the first time.
 */
export async function upsertLink(parts: LinkParts, caller: LinkCaller, body: CreateLinkBody): Promise<Link> {
  const { links } = parts.catalog;
  const workspaceId = caller.workspace.id;
  const url = normaliseUrl(body.url);
  if (url === undefined) return createLink(parts, caller, body);
  const urls = [...new Set([mergeUtm(url, body), url])];
  return links.whileUrlsHeld(workspaceId, urls, async () => {
    for (const one of urls) {
      const found = await links.findByUrl(workspaceId, one, linkSight(caller.apiKey));
      if (found !== undefined) return updateFound(parts, caller, found, body);
    }
    return createLink(parts, caller, body);
  });
}
