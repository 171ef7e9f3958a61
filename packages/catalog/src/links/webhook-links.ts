import type { LinkRecord } from '../model/record-schemas.js';
import { changeAll } from '../store/bulk-changes.js';
import type { RecordStore } from '../store/record-store.js';
import type { Detach } from './link-detach.js';

/** Attaches webhooks to links. A link stores the ids of its webhooks, so that a click needs no look-up. */
export function webhookLinks(links: RecordStore<LinkRecord>) {
  /** Attaches the webhook to these links, and leaves it attached to others. */
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
