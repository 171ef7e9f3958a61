import type { Catalog } from '@waymark/catalog';
import type { ExportEndData, ImportJob } from '@waymark/contract';
import type { QueueLogger } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { outgoingEvent } from './event-bodies.js';
import { webhookEventIdOf } from './webhook-event-id.js';
import { jobsOf, openWebhookQueue, type WebhookQueue, webhooksFor } from './webhook-queue.js';

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

/** Dependencies of {@link createJobEndNotifier}. */
export interface JobEndNotifierDeps {
  readonly catalog: Pick<Catalog, 'webhooks' | 'workspaces' | 'queueShards'>;
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
export interface JobEndNotifier {
  /**
   * Queues the deliveries of an end. However often it is called for an end, each webhook gets one delivery.
   *
   * @throws when a store is unavailable, or replicas have not confirmed: then it must be called again
   */
  ended(end: JobEnd): Promise<void>;
  /** Disconnects. */
  close(): void;
}

/** Creates the notifier. It connects to a queue shard at the first end of a workspace there. */
export function createJobEndNotifier({
  catalog,
  queueShards,
  waitReplicas = 0,
  logger,
}: JobEndNotifierDeps): JobEndNotifier {
  const opened = new Map<Redis, WebhookQueue>();

  function openShard(shard: Redis): WebhookQueue {
    const queue = opened.get(shard) ?? openWebhookQueue(shard, waitReplicas, logger);
    opened.set(shard, queue);
    return queue;
  }

  return {
    async ended({ workspaceId, event, key, endedMs, data }) {
      const webhooks = await webhooksFor(catalog, workspaceId, event);
      if (webhooks.length === 0) return;
      const outgoing = outgoingEvent(webhookEventIdOf(event, key), event, endedMs, data);
      const jobs = jobsOf(webhooks, event, outgoing);
      const { sender, waiting } = openShard(await catalog.queueShards.pick(queueShards, workspaceId));
      await waiting.add(workspaceId, jobs);
      await sender.sendOnce(outgoing.id, jobs);
    },

    close() {
      for (const { connection } of opened.values()) connection.disconnect();
    },
  };
}
