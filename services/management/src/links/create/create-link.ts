import { type LinkRecord, linkVisibility } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type Link } from '@waymark/contract';
import { linkContext, newLink, settleStoredLinks, withinLinkQuota } from '@waymark/link-rules';
import type { LinkCaller } from '@waymark/record-lists';
import type { LinkDeps } from '../link-deps.js';

/** The link object of one record. @param isNew whether the link was just created: then its counters are 0 and are not read */
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

/** Creates a link, and queues its webhooks. @throws ApiError 400, 403, 404, 409 or 422 */
export async function storeNewLink(deps: LinkDeps, caller: LinkCaller, body: CreateLinkBody): Promise<Link> {
  const { workspace } = caller;
  const { links } = deps.catalog;
  const link = await newLink(deps, await linkContext(deps, caller, [body]), body);
  const stored = await withinLinkQuota(deps, workspace, 1, () => links.create(workspace.id, link));
  const [record = stored] = await settleStoredLinks(deps, workspace.id, [stored]);
  if (record instanceof ApiError) throw record;
  await deps.notifier.linkChanged('link.created', record);
  return linkObject(deps, caller, record, true);
}

/** `POST /links`. @throws ApiError 400, 403, 404, 409, 422, or 429 while too many webhooks of the workspace wait */
export async function createLink(deps: LinkDeps, caller: LinkCaller, body: CreateLinkBody): Promise<Link> {
  await deps.notifier.assertRoom(caller.workspace.id, 'link.created');
  return storeNewLink(deps, caller, body);
}
