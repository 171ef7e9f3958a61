import type { ApiKeyRecord, Catalog, WebhookRecord } from '@waymark/catalog';
import {
  type ApiError,
  type CreateWebhookBody,
  EXTERNAL_ID_PREFIX,
  fieldError,
  HIDDEN_SECRET,
  hasPermission,
  type UpdateWebhookBody,
  type Webhook,
  type WebhookTrigger,
  webhookTriggerSchema,
} from '@waymark/contract';

/** Whether this release has the trigger. A later one may have stored others. */
const isKnown = (trigger: string): trigger is WebhookTrigger => webhookTriggerSchema.safeParse(trigger).success;

/**
 * The webhook object of every response. Only keys that may change webhooks see the secret, because it can be used to sign deliveries
 * (docs/reference/access.md).
 */
export function webhookObject(
  catalog: Catalog,
  { role, scopes }: Pick<ApiKeyRecord, 'role' | 'scopes'>,
  record: WebhookRecord,
): Webhook {
  const { id, name, url, triggers, linkScope, disabledAt } = record;
  return {
    id,
    name,
    url,
    secret: hasPermission(role, scopes, 'webhooks.write') ? catalog.webhooks.secretOf(record) : HIDDEN_SECRET,
    triggers: triggers.filter(isKnown),
    linkScope,
    disabledAt,
    installationId: null,
  };
}

/** The events that a webhook receives. */
type Scoped = Pick<WebhookRecord, 'triggers' | 'linkScope' | 'folderIds'> & {
  /** Ids of links to attach. The records of the links store the attachment (`webhookIds`), not that of the webhook. */
  readonly linkIds: readonly string[];
};

function invalidCombination(field: string, rule: string): ApiError {
  return fieldError('invalid_combination', field, rule);
}

/** Validates the combination of triggers and scope. @throws ApiError unprocessable_entity */
function checkScope({ triggers, linkScope, linkIds, folderIds }: Scoped): void {
  const receivesClicks = triggers.includes('link.clicked');
  if (receivesClicks && linkScope === null)
    throw invalidCombination('linkScope', 'must be given together with the trigger link.clicked');
  if (!receivesClicks && linkScope !== null)
    throw invalidCombination('linkScope', 'can be used together with the trigger link.clicked only');
  if (linkIds.length > 0 && linkScope !== 'links')
    throw invalidCombination('linkIds', 'can be used together with the linkScope "links" only');
  if (folderIds.length > 0 && linkScope !== 'folders')
    throw invalidCombination('folderIds', 'can be used together with the linkScope "folders" only');
}

function unknownReferences(field: string, what: string, ids: readonly string[]): ApiError {
  return fieldError('invalid_value', field, `unknown ${what}: ${ids.join(', ')}`, 'bad_request');
}

/**
 * Looks up the links and folders of a webhook.
 *
 * @param linkIds `link_…` ids, or the caller's own ids with the prefix `ext_`
 * @returns the `link_…` ids of the links
 * @throws ApiError bad_request for links and folders that do not exist in the workspace
 */
async function resolveReferences(
  catalog: Catalog,
  workspaceId: string,
  { linkIds, folderIds }: Pick<Scoped, 'linkIds' | 'folderIds'>,
): Promise<string[]> {
  const [links, folders] = await Promise.all([
    catalog.links.findMany(workspaceId, linkIds),
    catalog.folders.getMany(workspaceId, folderIds),
  ]);
  const names = new Set(
    links.flatMap(({ id, externalId }) => (externalId === null ? [id] : [id, EXTERNAL_ID_PREFIX + externalId])),
  );
  const unknownLinks = linkIds.filter((reference) => !names.has(reference));
  if (unknownLinks.length > 0) throw unknownReferences('linkIds', 'links', unknownLinks);
  const unknownFolders = folderIds.filter((id) => !folders.has(id));
  if (unknownFolders.length > 0) throw unknownReferences('folderIds', 'folders', unknownFolders);
  return links.map(({ id }) => id);
}

const distinct = (ids: readonly string[] | null | undefined) => [...new Set(ids ?? [])];

/** `POST /webhooks`. @throws ApiError bad_request, unprocessable_entity, conflict */
export async function createWebhook(
  catalog: Catalog,
  workspaceId: string,
  body: CreateWebhookBody,
): Promise<WebhookRecord> {
  const { name, url, linkScope = null } = body;
  const fields = { triggers: [...new Set(body.triggers)], linkScope, folderIds: distinct(body.folderIds) };
  const requested = { ...fields, linkIds: distinct(body.linkIds) };
  checkScope(requested);
  const linkIds = await resolveReferences(catalog, workspaceId, requested);
  return catalog.webhooks.create(workspaceId, { name, url, ...fields }, linkIds);
}

/**
 * Applies a body to a webhook. Without the trigger link.clicked it has no scope any more, unless the body sets one. A changed scope clears the
 * folders; enabling the webhook resets its count of failures. Triggers of a later release stay, because no caller of this one sees them.
 */
function applyChanges(webhook: WebhookRecord, body: UpdateWebhookBody, nowMs: number): WebhookRecord {
  const ofLater = webhook.triggers.filter((trigger) => !isKnown(trigger));
  const triggers = body.triggers === undefined ? webhook.triggers : [...new Set([...body.triggers, ...ofLater])];
  const keptScope = triggers.includes('link.clicked') ? webhook.linkScope : null;
  const linkScope = body.linkScope === undefined ? keptScope : body.linkScope;
  const isSame = linkScope === webhook.linkScope;
  const next = {
    ...webhook,
    name: body.name ?? webhook.name,
    url: body.url ?? webhook.url,
    triggers,
    linkScope,
    folderIds: body.folderIds === undefined ? (isSame ? webhook.folderIds : []) : distinct(body.folderIds),
  };
  if (body.disabled === undefined) return next;
  const disabledAt = body.disabled ? (webhook.disabledAt ?? new Date(nowMs).toISOString()) : null;
  return { ...next, disabledAt, consecutiveFailures: body.disabled ? webhook.consecutiveFailures : 0 };
}

/** Changes the record of a webhook. @returns it, and the ids of the links that the body names */
async function updateRecord(
  catalog: Catalog,
  workspaceId: string,
  id: string,
  body: UpdateWebhookBody,
  nowMs: number,
): Promise<{ readonly webhook: WebhookRecord; readonly linkIds: readonly string[] }> {
  const requested = { linkIds: distinct(body.linkIds), folderIds: distinct(body.folderIds) };
  let linkIds: readonly string[] = [];
  const webhook = await catalog.webhooks.update(workspaceId, id, async (record) => {
    const next = applyChanges(record, body, nowMs);
    checkScope({ ...next, linkIds: requested.linkIds });
    // Checked inside the update, because folders may have been deleted in the meantime.
    linkIds = await resolveReferences(catalog, workspaceId, requested);
    // With another scope the webhook is detached from all links.
    const leavesLinkScope = record.linkScope === 'links' && next.linkScope !== 'links';
    return { ...next, hasLinksToDetach: leavesLinkScope || record.hasLinksToDetach };
  });
  return { webhook, linkIds };
}

/**
 * `PATCH /webhooks/{id}`. A repeated request completes one that was interrupted: until the links are detached, the record notes it. Other
 * requests detach none, because the note may have stayed after they were detached, and links may name the webhook on purpose since then.
 *
 * @throws ApiError not_found, bad_request, unprocessable_entity, conflict
 */
export async function updateWebhook(
  catalog: Catalog,
  workspaceId: string,
  id: string,
  body: UpdateWebhookBody,
  nowMs: number,
): Promise<WebhookRecord> {
  const { webhooks } = catalog;
  const isAboutLinks = [body.linkScope, body.triggers, body.linkIds].some((field) => field !== undefined);
  if (!isAboutLinks) return (await updateRecord(catalog, workspaceId, id, body, nowMs)).webhook;
  // Before the lock, which other workspaces must not take.
  await webhooks.require(workspaceId, id);
  return webhooks.changeLinks(workspaceId, id, async (attach) => {
    const { webhook, linkIds } = await updateRecord(catalog, workspaceId, id, body, nowMs);
    if (body.linkIds !== undefined || webhook.hasLinksToDetach) await attach(linkIds);
    if (!webhook.hasLinksToDetach) return webhook;
    return webhooks.update(workspaceId, id, () => ({ hasLinksToDetach: false }));
  });
}
