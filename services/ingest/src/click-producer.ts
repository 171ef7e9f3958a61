import type { Catalog } from '@waymark/catalog';
import type { EventProducer } from '@waymark/event-queue';

/** The producers of this process, and the part of the catalog that maps workspaces to queue shards. */
export interface ProducerDeps {
  /** By number of the queue shard. */
  readonly producers: readonly [EventProducer, ...EventProducer[]];
  readonly catalog: Pick<Catalog, 'queueShards'>;
}

/**
 * The producer for the clicks of a workspace, returned synchronously if this process has cached the workspace's queue shard. While no store
 * answers, and for a shard that is not in the settings of this process, clicks go through shard 0 instead. Each is stored once there too,
 * but a visitor may be counted twice within the hour.
 */
export function clickProducer(
  { producers, catalog: { queueShards } }: ProducerDeps,
  workspaceId: string,
): EventProducer | Promise<EventProducer> {
  return (
    queueShards.pickKnown(producers, workspaceId) ?? queueShards.pick(producers, workspaceId).catch(() => producers[0])
  );
}

type ClickSource = Pick<EventProducer, 'findQueuedClick' | 'oldestQueuedMs'>;

/** Where the clicks of a shard's workspaces may be queued: in that shard, or in shard 0 (see {@link clickProducer}). */
export function clickSource({ producers: [first] }: Pick<ProducerDeps, 'producers'>, own: EventProducer): ClickSource {
  if (own === first) return own;
  return {
    findQueuedClick: async (clickId) => {
      const found = await own.findQueuedClick(clickId);
      return found ?? first.findQueuedClick(clickId);
    },
    oldestQueuedMs: async (kind) => {
      const times = await Promise.all([own.oldestQueuedMs(kind), first.oldestQueuedMs(kind)]);
      const known = times.filter((time) => time !== undefined);
      return known.length === 0 ? undefined : Math.min(...known);
    },
  };
}
