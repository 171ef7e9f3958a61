import { type LinkRecord, linkSight, type NewLink } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type Link } from '@waymark/contract';
import { readReferences } from '../change/link-references.js';
import type { LinkContext } from '../change/named-fields.js';
import type { LinkCaller, LinkParts } from '../link-parts.js';
import { completeLink, draftLink } from './draft-link.js';
import { withinUsage } from './usage.js';

/** Looks up what bodies name; `nowMs` is the present of their dates. */
export async function contextOf(
  parts: LinkParts,
  { workspace, apiKey }: LinkCaller,
  bodies: Parameters<typeof readReferences>[2],
): Promise<LinkContext> {
  const references = await readReferences(parts, workspace, bodies);
  return { workspace, apiKey, references, nowMs: parts.now() };
}

/** The only link object of one record. @param isNew it has no counters to look for */
export async function oneObject(
  { catalog }: LinkParts,
  { workspace, apiKey }: LinkCaller,
  record: LinkRecord,
  isNew = false,
): Promise<Link> {
  const [link] = await catalog.links.objects(workspace.id, [record], linkSight(apiKey), isNew);
  if (link === undefined) throw new TypeError('an object a record');
  return link;
}

/**
 * The link that a body describes, checked field by field before what it names; the schema has been checked before.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
export async function newLink({ catalog }: LinkParts, context: LinkContext, body: CreateLinkBody): Promise<NewLink> {
  const draft = draftLink(context, body);
  try {
    return completeLink(context, body, draft);
  } catch (err) {
    // A conflict of key or externalId takes precedence over what these checks find.
    if (err instanceof ApiError) await catalog.links.assertFree(context.workspace.id, draft);
    throw err;
  }
}

/** `POST /links`. @throws ApiError 400, 403, 404, 409 or 422 */
export async function createLink(parts: LinkParts, caller: LinkCaller, body: CreateLinkBody): Promise<Link> {
  const { workspace } = caller;
  const { links } = parts.catalog;
  const link = await newLink(parts, await contextOf(parts, caller, [body]), body);
  const record = await withinUsage(parts, workspace, 1, () => links.create(workspace.id, link));
  await parts.notifier.linkChanged('link.created', record);
  return oneObject(parts, caller, record, true);
}
