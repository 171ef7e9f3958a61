import type { Catalog } from '@waymark/catalog';
import type { ExportEndData } from '@waymark/contract';
import { createWebhookJobSender, type QueueLogger, type WebhookJobSender } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { jobText, webhookJobId } from '../delivery/webhook-job.js';
import { outgoingEvent } from './event-bodies.js';
import { eventIdOf } from './event-id.js';

/** The end of an export. */
export interface ExportEnd {
  readonly workspaceId: string;
  readonly event: 'export.completed' | 'export.failed';
  /** Identifies the end: calls with the same key are about the same one. */
  readonly key: string;
  /** When it was, epoch milliseconds. */
  readonly endedMs: number;
  readonly data: ExportEndData;
}

export interface ExportNotifierDeps {
  readonly catalog: Pick<Catalog, 'webhooks'>;
  /** The connection to duplicate at the first call: BullMQ defines its scripts on it. */
  readonly redis: Redis;
  readonly logger: Pick<QueueLogger, 'debug'>;
}

/** Queues webhook deliveries for the ends of exports. */
export interface ExportNotifier {
  /**
   * Queues the deliveries of an end. However often it is called for an end, each webhook gets one delivery.
   *
   * @throws when a store is unavailable: then it must be called again
   */
  ended(end: ExportEnd): Promise<void>;
  close(): void;
}

/** Few retries, because the caller repeats the call. */
const RETRIES_MAX = 2;

export function createExportNotifier({ catalog, redis, logger }: ExportNotifierDeps): ExportNotifier {
  let connection: Redis | undefined;
  let opened: WebhookJobSender | undefined;

  function sender(): WebhookJobSender {
    if (opened !== undefined) return opened;
    connection = redis.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: RETRIES_MAX });
    connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
    opened = createWebhookJobSender(connection);
    return opened;
  }

  return {
    async ended({ workspaceId, event, key, endedMs, data }) {
      const active = await catalog.webhooks.active(workspaceId);
      const webhooks = active.filter(({ triggers }) => triggers.includes(event));
      if (webhooks.length === 0) return;
      const outgoing = outgoingEvent(eventIdOf(event, key), event, endedMs, data);
      await sender().sendOnce(
        outgoing.id,
        webhooks.map(({ id: webhookId }) => ({
          id: webhookJobId(webhookId, outgoing.id),
          data: jobText({ workspaceId, webhookId, event, events: [outgoing] }),
        })),
      );
    },

    close: () => connection?.disconnect(),
  };
}
