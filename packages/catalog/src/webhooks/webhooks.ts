import { randomBytes } from 'node:crypto';
import type { WebhookLinks } from '../links/webhook-links.js';
import type { WebhookRecord } from '../model/record-schemas.js';
import { type NewWebhook, WEBHOOK_RULES } from '../resources/named-resources.js';
import { createResources, type ResourceDeps } from '../resources/resource.js';
import type { SecretBox } from '../secrets/secret-box.js';
import type { Creation } from '../store/record-creation.js';
import type { RecordStore } from '../store/record-store.js';
import { underLock } from '../store/write-context.js';
import type { ActiveWebhooks } from './active-webhooks.js';

const SECRET_BYTES = 16;
/** Maximum number of webhooks of a workspace: each change is queued once for each of them. */
export const WEBHOOKS_MAX = 100;

/** The lock on the set of links that a webhook is attached to. */
const linksLock = (webhookId: string) => `webhook-links/${webhookId}`;

/** The operations on webhooks (docs/reference/webhooks.md). Their signing secrets are stored encrypted. */
export function createWebhooks(
  store: RecordStore<WebhookRecord>,
  active: ActiveWebhooks,
  links: WebhookLinks,
  secrets: SecretBox,
  deps: ResourceDeps,
) {
  const resources = createResources(store, WEBHOOK_RULES, deps, { detach: links.detach });

  /**
   * A step of the creation of a webhook, which attaches it to links before it is stored: a killed creation leaves an id of no webhook in links,
   * which has no effect, rather than a webhook without its links.
   */
  function attachment({ workspaceId, id }: WebhookRecord, linkIds: readonly string[]): Creation {
    const attach = () => links.add(workspaceId, id, linkIds);
    return {
      lockName: linksLock(id),
      names: [],
      hasRandomNames: false,
      reserved: async () => [],
      check: async () => [],
      nameRows: () => [],
      insert: attach,
      // Again, because a change of a link meanwhile may have removed the id of the webhook, which was not stored yet.
      updateCaches: attach,
      publish: async () => undefined,
    };
  }

  return {
    ...resources,

    /**
     * Creates a webhook with a new secret.
     *
     * @param linkIds the links to which it is attached; ids of links that the workspace does not have are ignored
     * @throws ApiError forbidden when the workspace has the most webhooks that it may have, conflict when one of them has that URL
     */
    create(
      workspaceId: string,
      input: Omit<NewWebhook, 'encryptedSecret'>,
      linkIds: readonly string[] = [],
    ): Promise<WebhookRecord> {
      const secret = `whsec_${randomBytes(SECRET_BYTES).toString('hex')}`;
      const fields = { ...input, encryptedSecret: secrets.seal(secret, workspaceId) };
      const companions = (record: WebhookRecord) => (linkIds.length === 0 ? [] : [attachment(record, linkIds)]);
      return resources.create(workspaceId, fields, WEBHOOKS_MAX, { companions });
    },

    /**
     * Runs `work`, which attaches the webhook to links, while no other such work for the webhook runs. A change of the webhook on which its
     * links depend belongs in `work`: the last one to change the webhook is then also the last one to change its links.
     *
     * @param work its argument attaches the webhook to exactly the given links; ids of links that the workspace does not have are ignored
     */
    async changeLinks<T>(
      workspaceId: string,
      webhookId: string,
      work: (attach: (linkIds: readonly string[]) => Promise<void>) => Promise<T>,
    ): Promise<T> {
      const lock = await deps.locks.take([linksLock(webhookId)]);
      return underLock(lock, () =>
        work(async (linkIds) => {
          await links.attach(workspaceId, webhookId, linkIds);
          // Its removal detaches the webhook from links, maybe before these were attached.
          if ((await store.get(workspaceId, webhookId)) === undefined) await links.detach(workspaceId, webhookId);
        }),
      );
    },

    /** The enabled webhooks of a workspace, from a cache in this process. */
    active: active.of,

    /** The signing secret of deliveries: `whsec_` and 32 hexadecimal digits. */
    secretOf: (record: WebhookRecord): string => secrets.open(record.encryptedSecret, record.workspaceId),
  };
}
