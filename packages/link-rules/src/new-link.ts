import type { NewLink } from '@waymark/catalog';
import { ApiError, type CreateLinkBody } from '@waymark/contract';
import { completeLink, draftLink } from './draft-link.js';
import { readReferences } from './link-references.js';
import type { LinkRuleDeps } from './link-rule-deps.js';
import type { LinkAuthor, LinkContext } from './referencing-fields.js';

/** Builds the context of a request: references of its bodies, and the current time for relative dates. */
export async function linkContext(
  deps: LinkRuleDeps,
  { workspace, apiKey }: LinkAuthor,
  bodies: Parameters<typeof readReferences>[2],
): Promise<LinkContext> {
  const references = await readReferences(deps, workspace, bodies);
  return { workspace, apiKey, references, nowMs: deps.now() };
}

/**
 * The new link from a body that passed its schema: first its own fields are validated, then its references.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
export async function newLink({ catalog }: LinkRuleDeps, context: LinkContext, body: CreateLinkBody): Promise<NewLink> {
  const draft = draftLink(context, body);
  try {
    return completeLink(context, body, draft);
  } catch (err) {
    // A conflict of key or externalId takes precedence over errors of these checks.
    if (err instanceof ApiError) await catalog.links.assertFree(context.workspace.id, draft);
    throw err;
  }
}
