import type { Catalog } from '@waymark/catalog';
import type { ExportEndData, ImportJob } from '@waymark/contract';
import { createWebhookJobSender, type QueueLogger, type WebhookJobSender } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { createWaitingBodies, type WaitingBodies } from '../delivery/waiting-bodies.js';
import { jobText, webhookJobId } from '../delivery/webhook-job.js';
import { outgoingEvent } from './event-bodies.js';
import { webhookEventIdOf } from './webhook-event-id.js';

type EndData =
  | { readonly event: 'export.completed' | 'export.failed'; readonly data: ExportEndData }
  | { readonly event: 'import.completed' | 'import.failed'; readonly data: ImportJob };

/** The end of an export or an import. */
export type JobEnd = EndData & {
  readonly workspaceId: string;
  /** Identifies the end: calls with the same key are about the same one. */
  readonly key: string;
  /** When it was, epoch milliseconds. */
  readonly endedMs: number;
};

/** Dependencies of {@link createJobNotifier}. */
export interface JobNotifierDeps {
  readonly catalog: Pick<Catalog, 'webhooks' | 'queueShards'>;
  /**
   * By number of the queue shard, the connections to duplicate at the first call: the notifier uses some of its own, because BullMQ defines
   * its scripts on them.
   */
  readonly queueShards: readonly Redis[];
  /** How many replicas of Redis must confirm the jobs; 0 by default. */
  readonly waitReplicas?: number | undefined;
  readonly logger: Pick<QueueLogger, 'debug'>;
}

/** Queues webhook deliveries for the ends of exports and imports. */
export interface JobNotifier {
  /**
   * Queues the deliveries of an end. However often it is called for an end, each webhook gets one delivery.
   *
   * @throws when a store is unavailable, or replicas have not confirmed: then it must be called again
   */
  ended(end: JobEnd): Promise<void>;
  /** Disconnects. */
  close(): void;
}

/** Few retries, because the caller repeats the call. */
const RETRIES_MAX = 2;

/** The queue of one shard, with a connection of its own. */
interface OpenedShard {
  readonly connection: Redis;
  readonly sender: WebhookJobSender;
  readonly waiting: WaitingBodies;
}

/** Creates the notifier. It connects to a queue shard at the first end of a workspace there. */
export function createJobNotifier({ catalog, queueShards, waitReplicas = 0, logger }: JobNotifierDeps): JobNotifier {
  const opened = new Map<Redis, OpenedShard>();

  function openShard(shard: Redis): OpenedShard {
    const known = opened.get(shard);
    if (known !== undefined) return known;
    const connection = shard.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: RETRIES_MAX });
    connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
    const sender = createWebhookJobSender(connection, createReplication(connection, waitReplicas));
    const made = { connection, sender, waiting: createWaitingBodies(connection) };
    opened.set(shard, made);
    return made;
  }

  return {
    async ended({ workspaceId, event, key, endedMs, data }) {
      const active = await catalog.webhooks.active(workspaceId);
      const webhooks = active.filter(({ triggers }) => triggers.includes(event));
      if (webhooks.length === 0) return;
      const outgoing = outgoingEvent(webhookEventIdOf(event, key), event, endedMs, data);
      const jobs = webhooks.map(({ id: webhookId }) => ({
        id: webhookJobId(webhookId, outgoing.id),
        data: jobText({ workspaceId, webhookId, event, events: [outgoing] }),
      }));
      const { sender, waiting } = openShard(await catalog.queueShards.pick(queueShards, workspaceId));
      await waiting.add(workspaceId, jobs);
      await sender.sendOnce(outgoing.id, jobs);
    },

    close() {
      for (const { connection } of opened.values()) connection.disconnect();
    },
  };
}
