import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import { changeAll } from '../store/bulk-changes.js';
import { hasId } from '../store/list-conditions.js';
import type { RecordStore } from '../store/record-store.js';

type Detach = (workspaceId: string, id: string) => Promise<void>;

/** Takes a tag off every link. */
export function tagDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) => {
    const hasTag = { sql: 'has(tag_ids, {tag:UInt64})', values: { tag: BigInt(numberOf('tag', id)) } };
    return changeAll(links, workspaceId, [hasTag], (link) =>
      link.tagIds.includes(id) ? { ...link, tagIds: link.tagIds.filter((tagId) => tagId !== id) } : link,
    );
  };
}

/** Leaves every link of a folder without one. */
export function folderDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) =>
    changeAll(links, workspaceId, [hasId('folder_id', 'folder', [id])], (link) =>
      link.folderId === id ? { ...link, folderId: null } : link,
    );
}

/** A link lists its webhooks, so that a click needs no look-up to find them. */
export function webhookLinks(links: RecordStore<LinkRecord>) {
  /** Attaches the webhook to these links and to no others. */
  async function attach(workspaceId: string, webhookId: string, linkIds: readonly string[]): Promise<void> {
    const isListed = new Set(linkIds);
    const namesIt = { sql: 'position(data, {webhook:String}) > 0', values: { webhook: webhookId } };
    await changeAll(links, workspaceId, [namesIt], (link) =>
      isListed.has(link.id) || !link.webhookIds.includes(webhookId)
        ? link
        : { ...link, webhookIds: link.webhookIds.filter((id) => id !== webhookId) },
    );
    if (linkIds.length === 0) return;
    await links.updateMany(workspaceId, linkIds, (link) =>
      link.webhookIds.includes(webhookId) ? link : { ...link, webhookIds: [...link.webhookIds, webhookId] },
    );
  }
  const detach: Detach = (workspaceId, webhookId) => attach(workspaceId, webhookId, []);
  return { attach, detach };
}
export type WebhookLinks = ReturnType<typeof webhookLinks>;
