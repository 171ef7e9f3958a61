import type { Catalog, WebhookRecord } from '@waymark/catalog';
import { ApiError, type CreateWebhookBody, type UpdateWebhookBody, type Webhook } from '@waymark/contract';

/** The webhook object of every response (spec 8.3). */
export function webhookObject(catalog: Catalog, record: WebhookRecord): Webhook {
  const { id, name, url, triggers, linkScope, disabledAt } = record;
  return {
    id,
    name,
    url,
    secret: catalog.webhooks.secretOf(record),
    triggers,
    linkScope,
    disabledAt,
    installationId: null,
  };
}

type Scoped = Pick<WebhookRecord, 'triggers' | 'linkScope' | 'linkIds' | 'folderIds'>;

function invalid(field: string, reason: string): ApiError {
  return new ApiError('unprocessable_entity', `custom: ${field}: ${reason}`);
}

/** What the fields must say together. @throws ApiError unprocessable_entity */
function checkScope({ triggers, linkScope, linkIds, folderIds }: Scoped): void {
  const isToldClicks = triggers.includes('link.clicked');
  if (isToldClicks && linkScope === null) throw invalid('linkScope', 'required with the trigger link.clicked');
  if (!isToldClicks && linkScope !== null) throw invalid('linkScope', 'goes with the trigger link.clicked only');
  if (linkIds.length > 0 && linkScope !== 'links') throw invalid('linkIds', 'go with the linkScope "links" only');
  if (folderIds.length > 0 && linkScope !== 'folders')
    throw invalid('folderIds', 'go with the linkScope "folders" only');
}

/** @throws ApiError bad_request for links and folders that the workspace does not have */
async function checkKnown(catalog: Catalog, workspaceId: string, { linkIds, folderIds }: Scoped): Promise<void> {
  const [links, folders] = await Promise.all([
    catalog.links.getMany(workspaceId, linkIds),
    catalog.folders.getMany(workspaceId, folderIds),
  ]);
  const unknown = [...linkIds.filter((id) => !links.has(id)), ...folderIds.filter((id) => !folders.has(id))];
  if (unknown.length > 0) throw new ApiError('bad_request', `Unknown links or folders: ${unknown.join(', ')}.`);
}

const distinct = (ids: readonly string[] | null | undefined) => [...new Set(ids ?? [])];

/** Links say themselves which webhooks list them. */
async function noteOnLinks(
  { links }: Catalog,
  { workspaceId, id }: WebhookRecord,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const isListed = new Set(after);
  const changed = [...before.filter((linkId) => !isListed.has(linkId)), ...after];
  await links.updateMany(workspaceId, changed, (link) => {
    if (link.webhookIds.includes(id) === isListed.has(link.id)) return link;
    const others = link.webhookIds.filter((webhookId) => webhookId !== id);
    return { ...link, webhookIds: isListed.has(link.id) ? [...others, id] : others };
  });
}

/** @throws ApiError bad_request, unprocessable_entity, conflict */
export async function createWebhook(
  catalog: Catalog,
  workspaceId: string,
  body: CreateWebhookBody,
): Promise<WebhookRecord> {
  const { name, url, linkScope = null } = body;
  const fields = {
    triggers: [...new Set(body.triggers)],
    linkScope,
    linkIds: distinct(body.linkIds),
    folderIds: distinct(body.folderIds),
  };
  checkScope(fields);
  await checkKnown(catalog, workspaceId, fields);
  const webhook = await catalog.webhooks.create(workspaceId, { name, url, ...fields });
  await noteOnLinks(catalog, webhook, [], webhook.linkIds);
  return webhook;
}

/** The webhook as a body changes it; links and folders that its scope does not have any more are dropped. */
function changed(webhook: WebhookRecord, body: UpdateWebhookBody, nowMs: number): WebhookRecord {
  const linkScope = body.linkScope === undefined ? webhook.linkScope : body.linkScope;
  const isSame = linkScope === webhook.linkScope;
  const next = {
    ...webhook,
    name: body.name ?? webhook.name,
    url: body.url ?? webhook.url,
    triggers: body.triggers === undefined ? webhook.triggers : [...new Set(body.triggers)],
    linkScope,
    linkIds: body.linkIds === undefined ? (isSame ? webhook.linkIds : []) : distinct(body.linkIds),
    folderIds: body.folderIds === undefined ? (isSame ? webhook.folderIds : []) : distinct(body.folderIds),
  };
  if (body.disabled === undefined) return next;
  const disabledAt = body.disabled ? (webhook.disabledAt ?? new Date(nowMs).toISOString()) : null;
  return { ...next, disabledAt, consecutiveFailures: body.disabled ? webhook.consecutiveFailures : 0 };
}

/** @throws ApiError not_found, bad_request, unprocessable_entity, conflict */
export async function updateWebhook(
  catalog: Catalog,
  workspaceId: string,
  id: string,
  body: UpdateWebhookBody,
  nowMs: number,
): Promise<WebhookRecord> {
  let listedBefore: readonly string[] = [];
  const webhook = await catalog.webhooks.update(workspaceId, id, async (record) => {
    const next = changed(record, body, nowMs);
    checkScope(next);
    await checkKnown(catalog, workspaceId, {
      ...next,
      // Those that were known before may have been removed since.
      linkIds: distinct(body.linkIds),
      folderIds: distinct(body.folderIds),
    });
    listedBefore = record.linkIds;
    return next;
  });
  await noteOnLinks(catalog, webhook, listedBefore, webhook.linkIds);
  return webhook;
}

/** @throws ApiError not_found */
export async function deleteWebhook(catalog: Catalog, workspaceId: string, id: string): Promise<void> {
  const webhook = await catalog.webhooks.remove(workspaceId, id);
  await noteOnLinks(catalog, webhook, webhook.linkIds, []);
}
