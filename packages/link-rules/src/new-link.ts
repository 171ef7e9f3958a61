import type { NewLink } from '@waymark/catalog';
import { ApiError, type CreateLinkBody } from '@waymark/contract';
import { completeLink, draftLink } from './draft-link.js';
import { readReferences } from './link-references.js';
import type { LinkRuleDeps } from './link-rule-deps.js';
import type { LinkAuthor, LinkContext } from './referencing-fields.js';

/**
 * Builds the context in which the bodies of a request are validated: the resources that they refer to, and the current time for relative
 * dates.
 *
 * @throws ApiError as `readReferences` does
 */
export async function linkContext(
  deps: LinkRuleDeps,
  { workspace, apiKey }: LinkAuthor,
  bodies: Parameters<typeof readReferences>[2],
): Promise<LinkContext> {
  const references = await readReferences(deps, workspace, bodies);
  return { workspace, apiKey, references, nowMs: deps.now() };
}

/**
 * Makes the new link of a body that has passed its schema: first validates its own fields, then its references. Stores nothing.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
export async function newLink({ catalog }: LinkRuleDeps, context: LinkContext, body: CreateLinkBody): Promise<NewLink> {
  const draft = draftLink(context, body);
  try {
    return completeLink(context, body, draft);
  } catch (err) {
    // If the key or the externalId is taken as well, that conflict is reported instead of this error.
    if (err instanceof ApiError) await catalog.links.assertFree(context.workspace.id, draft);
    throw err;
  }
}
