import { hasId } from '../lists/list-conditions.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import { changeAll } from '../store/bulk-changes.js';
import type { RecordStore } from '../store/record-store.js';

/** Removes the references that links have to a record; see `Relations`. */
type Detach = (workspaceId: string, id: string) => Promise<void>;

/** Removes a tag from all links. */
export function tagDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) => {
    const hasTag = { sql: 'has(tag_ids, {tag:UInt64})', values: { tag: BigInt(numberOf('tag', id)) } };
    const tagged = { conditions: [hasTag], has: ({ tagIds }: LinkRecord) => tagIds.includes(id) };
    return changeAll(links, workspaceId, tagged, (link) => ({
      ...link,
      tagIds: link.tagIds.filter((tagId) => tagId !== id),
    }));
  };
}

/** Moves all links out of a folder. */
export function folderDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) => {
    const inFolder = {
      conditions: [hasId('folder_id', 'folder', [id])],
      has: ({ folderId }: LinkRecord) => folderId === id,
    };
    return changeAll(links, workspaceId, inFolder, (link) => ({ ...link, folderId: null }));
  };
}

/** Attaches webhooks to links. A link stores the ids of its webhooks, so that a click needs no look-up. */
export function webhookLinks(links: RecordStore<LinkRecord>) {
  /** Attaches the webhook to these links as well. */
  async function add(workspaceId: string, webhookId: string, linkIds: readonly string[]): Promise<void> {
    if (linkIds.length === 0) return;
    await links.updateMany(workspaceId, linkIds, (link) =>
      link.webhookIds.includes(webhookId) ? link : { ...link, webhookIds: [...link.webhookIds, webhookId] },
    );
  }

  /** Attaches the webhook to exactly these links, and detaches it from all others. */
  async function attach(workspaceId: string, webhookId: string, linkIds: readonly string[]): Promise<void> {
    const attached = new Set(linkIds);
    // There is no column for the ids of webhooks, so candidates are found by a text search in the JSON.
    const mentionsWebhook = { sql: 'position(data, {webhook:String}) > 0', values: { webhook: webhookId } };
    const others = {
      conditions: [mentionsWebhook],
      has: ({ id, webhookIds }: LinkRecord) => webhookIds.includes(webhookId) && !attached.has(id),
    };
    await changeAll(links, workspaceId, others, (link) => ({
      ...link,
      webhookIds: link.webhookIds.filter((id) => id !== webhookId),
    }));
    await add(workspaceId, webhookId, linkIds);
  }
  const detach: Detach = (workspaceId, webhookId) => attach(workspaceId, webhookId, []);
  return { add, attach, detach };
}
export type WebhookLinks = ReturnType<typeof webhookLinks>;
