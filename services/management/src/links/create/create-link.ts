import { type LinkRecord, linkVisibility, type NewLink } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type Link } from '@waymark/contract';
import type { LinkCaller } from '@waymark/record-lists';
import { readReferences } from '../change/link-references.js';
import type { LinkContext } from '../change/referencing-fields.js';
import type { LinkDeps } from '../link-deps.js';
import { completeLink, draftLink } from './draft-link.js';
import { withinLinkQuota } from './link-quota.js';

/** Builds the context of a request: references of its bodies, and the current time for relative dates. */
export async function linkContext(
  deps: LinkDeps,
  { workspace, apiKey }: LinkCaller,
  bodies: Parameters<typeof readReferences>[2],
): Promise<LinkContext> {
  const references = await readReferences(deps, workspace, bodies);
  return { workspace, apiKey, references, nowMs: deps.now() };
}

/** The link object of one record. @param isNew skips reading counters, which a new link does not have */
export async function linkObject(
  { catalog }: LinkDeps,
  { workspace, apiKey }: LinkCaller,
  record: LinkRecord,
  isNew = false,
): Promise<Link> {
  const [link] = await catalog.links.objects(workspace.id, [record], linkVisibility(apiKey), isNew);
  if (link === undefined) throw new TypeError('no link object for the record');
  return link;
}

/**
 * The new link from a body that passed its schema: first its own fields are validated, then its references.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
export async function newLink({ catalog }: LinkDeps, context: LinkContext, body: CreateLinkBody): Promise<NewLink> {
  const draft = draftLink(context, body);
  try {
    return completeLink(context, body, draft);
  } catch (err) {
    // A conflict of key or externalId takes precedence over errors of these checks.
    if (err instanceof ApiError) await catalog.links.assertFree(context.workspace.id, draft);
    throw err;
  }
}

/** `POST /links`. @throws ApiError 400, 403, 404, 409 or 422 */
export async function createLink(deps: LinkDeps, caller: LinkCaller, body: CreateLinkBody): Promise<Link> {
  const { workspace } = caller;
  const { links } = deps.catalog;
  const link = await newLink(deps, await linkContext(deps, caller, [body]), body);
  const record = await withinLinkQuota(deps, workspace, 1, () => links.create(workspace.id, link));
  await deps.notifier.linkChanged('link.created', record);
  return linkObject(deps, caller, record, true);
}
