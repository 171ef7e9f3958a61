import type { Catalog, WebhookRecord } from '@waymark/catalog';
import type { WebhookTrigger } from '@waymark/contract';
import { createWebhookJobSender, type QueueLogger, type WebhookJob, type WebhookJobSender } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { includesWebhooks } from '../delivery/plan-check.js';
import { createWaitingBodies, type WaitingBodies } from '../delivery/waiting-jobs.js';
import { jobText, type OutgoingEvent, webhookJobId } from '../delivery/webhook-job.js';

/** The queue of deliveries of one queue shard, on a connection of its own, because BullMQ defines its scripts on it. */
export interface WebhookQueue {
  readonly connection: Redis;
  readonly sender: WebhookJobSender;
  readonly waiting: WaitingBodies;
}

/** Few retries, because callers wait for them, or repeat the call. */
const RETRIES_MAX = 2;

/** Connects to the queue of a shard. @param shard the connection to duplicate */
export function openWebhookQueue(shard: Redis, waitReplicas: number, logger: Pick<QueueLogger, 'debug'>): WebhookQueue {
  const connection = shard.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: RETRIES_MAX });
  connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
  const sender = createWebhookJobSender(connection, createReplication(connection, waitReplicas));
  return { connection, sender, waiting: createWaitingBodies(connection) };
}

/** The enabled webhooks of a workspace; none while its plan does not include webhooks. */
export async function activeWebhooks(
  catalog: Pick<Catalog, 'webhooks' | 'workspaces'>,
  workspaceId: string,
): Promise<readonly WebhookRecord[]> {
  const active = await catalog.webhooks.active(workspaceId);
  return active.length === 0 || (await includesWebhooks(catalog, workspaceId)) ? active : [];
}

/** Those of {@link activeWebhooks} that get the event. */
export async function webhooksFor(
  catalog: Pick<Catalog, 'webhooks' | 'workspaces'>,
  workspaceId: string,
  event: WebhookTrigger,
): Promise<readonly WebhookRecord[]> {
  const active = await activeWebhooks(catalog, workspaceId);
  return active.filter(({ triggers }) => triggers.includes(event));
}

/** One job for each webhook, which delivers the event to it. The same event gives the same jobs. */
export function jobsOf(
  webhooks: readonly WebhookRecord[],
  event: WebhookTrigger,
  outgoing: OutgoingEvent,
): WebhookJob[] {
  return webhooks.map(({ id: webhookId, workspaceId }) => ({
    id: webhookJobId(webhookId, outgoing.id),
    data: jobText({ workspaceId, webhookId, event, events: [outgoing] }),
  }));
}
