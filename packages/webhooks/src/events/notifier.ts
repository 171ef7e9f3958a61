import { setTimeout as delay } from 'node:timers/promises';
import { type Catalog, type LinkRecord, WEBHOOK_VISIBILITY } from '@waymark/catalog';
import type { Partner, WebhookTrigger } from '@waymark/contract';
import { createWebhookJobSender, type QueueLogger, type WebhookJob } from '@waymark/event-queue';
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
  /** Pauses before the attempts that follow a failed one; tests shorten them. */
  readonly pausesMs?: readonly number[];
}

/**
 * Queues webhook deliveries for changes made through the API. Call it after the change. While the queue shard of the workspace is away,
 * shard 0 gets the jobs: a change needs it anyway, and its worker delivers for any workspace. While a store does not answer, the process
 * tries again for a minute and a half, after the response. No call rejects: the change stands even if the delivery cannot be queued. A workspace without a matching webhook costs one lookup in a map.
 */
export interface WebhookNotifier {
  linkChanged(event: 'link.created' | 'link.updated' | 'link.deleted', link: LinkRecord): Promise<void>;
  partnerEnrolled(workspaceId: string, partner: Partner): Promise<void>;
  close(): void;
}

/** Few retries, because the request that made the change waits for them. */
const RETRIES_MAX = 2;
const PAUSES_MS = [1_000, 5_000, 20_000, 60_000];
/** Changes that wait for their next attempt. */
const WAITING_MAX = 1_000;
/** A command that timed out may still be executed later, by a Redis that was suspended and goes on. */
const UNCONFIRMED = 'webhook deliveries of a change are lost, unless Redis has taken them without confirming it';

export function createWebhookNotifier(deps: WebhookNotifierDeps): WebhookNotifier {
  const { catalog, queueShards, logger, now, pausesMs = PAUSES_MS } = deps;
  const closing = new AbortController();
  let waiting = 0;
  const connections = queueShards.map((redis) => {
    const connection = redis.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: RETRIES_MAX });
    connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
    return connection;
  });
  const senders = connections.map(createWebhookJobSender);

  /**
   * Adds the jobs to the shard of the workspace, or to shard 0 if that does not confirm them. The ids are the same: if shard 0 is the shard
   * of the workspace, it has each job once. If both shards have the jobs, receivers get the same event twice, under the same id.
   */
  async function send(workspaceId: string, jobs: readonly WebhookJob[]): Promise<void> {
    const sender = await catalog.queueShards.pick(senders, workspaceId);
    try {
      await sender.send(jobs);
    } catch (err) {
      logger.debug({ err, workspaceId }, 'webhook deliveries were not confirmed; sending them to shard 0');
      await (senders[0] ?? sender).send(jobs);
    }
  }

  async function notify(
    workspaceId: string,
    event: WebhookTrigger,
    subjectId: string,
    dataOf: () => Promise<object | undefined>,
  ) {
    const eventId = createWebhookEventId();
    const createdAtMs = now();
    async function attempt(): Promise<void> {
      const active = await catalog.webhooks.active(workspaceId);
      const webhooks = active.filter(({ triggers }) => triggers.includes(event));
      if (webhooks.length === 0) return;
      const data = await dataOf();
      if (data === undefined) return;
      const outgoing = outgoingEvent(eventId, event, createdAtMs, data);
      await send(
        workspaceId,
        webhooks.map(({ id: webhookId }) => ({
          id: webhookJobId(webhookId, outgoing.id),
          data: jobText({ workspaceId, webhookId, event, events: [outgoing] }),
        })),
      );
    }
    /** @throws the last error */
    async function retry(first: unknown): Promise<void> {
      if (waiting >= WAITING_MAX) throw first;
      let error = first;
      waiting++;
      try {
        for (const ms of pausesMs) {
          await delay(ms, undefined, { signal: closing.signal });
          try {
            return await attempt();
          } catch (err) {
            error = err;
          }
        }
      } finally {
        waiting--;
      }
      throw error;
    }
    await attempt().catch((first: unknown) => {
      retry(first).catch((err: unknown) => logger.error({ err, workspaceId, event, eventId, subjectId }, UNCONFIRMED));
    });
  }

  return {
    linkChanged: (event, link) =>
      notify(link.workspaceId, event, link.id, async () => {
        const [object] = await catalog.links.objects(link.workspaceId, [link], WEBHOOK_VISIBILITY);
        return object;
      }),

    partnerEnrolled: (workspaceId, partner) => notify(workspaceId, 'partner.enrolled', partner.id, async () => partner),

    close() {
      closing.abort();
      for (const connection of connections) connection.disconnect();
    },
  };
}
