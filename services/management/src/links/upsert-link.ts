import { linkSight, normaliseUrl } from '@waymark/catalog';
import type { CreateLinkBody, Link } from '@waymark/contract';
import { createLink } from './create-link.js';
import type { LinkCaller, LinkParts } from './link-parts.js';
import { updateFound } from './update-link.js';

/**
 * `PUT /links/upsert`: changes the oldest link with that destination, or creates one. Of many at once for one
 * destination a single one creates.
 */
export async function upsertLink(parts: LinkParts, caller: LinkCaller, body: CreateLinkBody): Promise<Link> {
  const { links } = parts.catalog;
  const workspaceId = caller.workspace.id;
  const url = normaliseUrl(body.url);
  if (url === undefined) return createLink(parts, caller, body);
  return links.whileUrlHeld(workspaceId, url, async () => {
    const found = await links.findByUrl(workspaceId, url, linkSight(caller.apiKey));
    return found === undefined ? createLink(parts, caller, body) : updateFound(parts, caller, found, body);
  });
}
