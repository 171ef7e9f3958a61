import { type Catalog, type LinkRecord, WEBHOOK_VISIBILITY } from '@waymark/catalog';
import type { Partner, WebhookTrigger } from '@waymark/contract';
import { createWebhookJobSender, type QueueLogger } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { jobText, webhookJobId } from '../delivery/webhook-job.js';
import { outgoingEvent } from './event-bodies.js';
import { createWebhookEventId } from './event-id.js';

export interface WebhookNotifierDeps {
  readonly catalog: Catalog;
  /**
   * By number of the queue shard, the connections to duplicate: the notifier uses some of its own, because BullMQ defines its scripts on
   * them.
   */
  readonly queueShards: readonly Redis[];
  readonly logger: Pick<QueueLogger, 'debug' | 'error'>;
  readonly now: () => number;
}

/**
 * Queues webhook deliveries for changes made through the API. Call it after the change. No call rejects: the change stands even
 * if the delivery cannot be queued. A workspace without a matching webhook costs one lookup in a map.
 */
export interface WebhookNotifier {
  linkChanged(event: 'link.created' | 'link.updated' | 'link.deleted', link: LinkRecord): Promise<void>;
  partnerEnrolled(workspaceId: string, partner: Partner): Promise<void>;
  close(): void;
}

/** Few retries, because the request that made the change waits for them. */
const RETRIES_MAX = 2;

export function createWebhookNotifier({ catalog, queueShards, logger, now }: WebhookNotifierDeps): WebhookNotifier {
  const connections = queueShards.map((redis) => {
    const connection = redis.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: RETRIES_MAX });
    connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
    return connection;
  });
  const senders = connections.map(createWebhookJobSender);

  async function notify(workspaceId: string, event: WebhookTrigger, dataOf: () => Promise<object | undefined>) {
    try {
      const active = await catalog.webhooks.active(workspaceId);
      const webhooks = active.filter(({ triggers }) => triggers.includes(event));
      if (webhooks.length === 0) return;
      const createdAtMs = now();
      const data = await dataOf();
      if (data === undefined) return;
      const outgoing = outgoingEvent(createWebhookEventId(), event, createdAtMs, data);
      const sender = await catalog.queueShards.pick(senders, workspaceId);
      await sender.send(
        webhooks.map(({ id: webhookId }) => ({
          id: webhookJobId(webhookId, outgoing.id),
          data: jobText({ workspaceId, webhookId, event, events: [outgoing] }),
        })),
      );
    } catch (err) {
      logger.error({ err, workspaceId, event }, 'webhook deliveries could not be queued');
    }
  }

  return {
    linkChanged: (event, link) =>
      notify(link.workspaceId, event, async () => {
        const [object] = await catalog.links.objects(link.workspaceId, [link], WEBHOOK_VISIBILITY);
        return object;
      }),

    partnerEnrolled: (workspaceId, partner) => notify(workspaceId, 'partner.enrolled', async () => partner),

    close() {
      for (const connection of connections) connection.disconnect();
    },
  };
}
