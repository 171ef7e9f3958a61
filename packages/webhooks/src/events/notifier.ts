import { type Catalog, type LinkRecord, WEBHOOK_SIGHT } from '@waymark/catalog';
import type { Partner, WebhookTrigger } from '@waymark/contract';
import { createWebhookJobSender, type QueueLogger } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { jobText, webhookJobId } from '../delivery/webhook-job.js';
import { toldEvent } from './event-bodies.js';
import { createWebhookEventId } from './event-id.js';

export interface WebhookNotifierParts {
  readonly catalog: Catalog;
  /** Says where Redis is: the notifier opens a connection of its own, as BullMQ leaves its scripts on one. */
  readonly redis: Redis;
  readonly logger: Pick<QueueLogger, 'debug' | 'error'>;
  readonly now: () => number;
}

/**
 * Tells webhooks of changes that were made through the API, after they were made. No call rejects: the change is done
 * whether the delivery can be queued or not. A workspace without a webhook for it costs a look into a map.
 */
export interface WebhookNotifier {
  linkChanged(event: 'link.created' | 'link.updated' | 'link.deleted', link: LinkRecord): Promise<void>;
  partnerEnrolled(workspaceId: string, partner: Partner): Promise<void>;
  close(): void;
}

/** The request that made the change waits for it. */
const RETRIES_MAX = 2;

export function createWebhookNotifier({ catalog, redis, logger, now }: WebhookNotifierParts): WebhookNotifier {
  const connection = redis.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: RETRIES_MAX });
  connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
  const sender = createWebhookJobSender(connection);

  async function tell(workspaceId: string, event: WebhookTrigger, dataOf: () => Promise<object | undefined>) {
    try {
      const active = await catalog.webhooks.active(workspaceId);
      const webhooks = active.filter(({ triggers }) => triggers.includes(event));
      if (webhooks.length === 0) return;
      const createdAtMs = now();
      const data = await dataOf();
      if (data === undefined) return;
      const told = toldEvent(createWebhookEventId(), event, createdAtMs, data);
      await sender.send(
        webhooks.map(({ id: webhookId }) => ({
          id: webhookJobId(webhookId, told.id),
          data: jobText({ workspaceId, webhookId, event, told: [told] }),
        })),
      );
    } catch (err) {
      logger.error({ err, workspaceId, event }, 'webhooks were not told');
    }
  }

  return {
    linkChanged: (event, link) =>
      tell(link.workspaceId, event, async () => {
        const [object] = await catalog.links.objects(link.workspaceId, [link], WEBHOOK_SIGHT);
        return object;
      }),

    partnerEnrolled: (workspaceId, partner) => tell(workspaceId, 'partner.enrolled', async () => partner),

    close: () => connection.disconnect(),
  };
}
