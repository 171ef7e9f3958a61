import type { KeyCaller } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type Link } from '@waymark/contract';
import { linkContext, newLink, settleStoredLinks, withinLinkQuota } from '@waymark/link-rules';
import { finishChange } from '../finish-change.js';
import type { LinkDeps } from '../link-deps.js';
import { linkObjectFor } from '../read/read-link-object.js';

/** Creates a link, and queues its webhooks. @throws ApiError 400, 403, 404, 409 or 422 */
export async function storeNewLink(deps: LinkDeps, caller: KeyCaller, body: CreateLinkBody): Promise<Link> {
  const { workspace } = caller;
  const { links } = deps.catalog;
  const link = await newLink(deps, await linkContext(deps, caller, [body]), body);
  const stored = await withinLinkQuota(deps, workspace, 1, () => links.create(workspace.id, link));
  const [record = stored] = await finishChange(deps, 'link.created', stored, () =>
    settleStoredLinks(deps, workspace.id, [stored]),
  );
  if (record instanceof ApiError) throw record;
  await deps.notifier.linkChanged('link.created', record);
  return linkObjectFor(deps, caller, record, true);
}

/** `POST /links`. @throws ApiError 400, 403, 404, 409, 422, or 429 while too many webhooks of the workspace wait */
export async function createLink(deps: LinkDeps, caller: KeyCaller, body: CreateLinkBody): Promise<Link> {
  await deps.notifier.assertQueueCapacity(caller.workspace.id, 'link.created');
  return storeNewLink(deps, caller, body);
}
