import { createLru } from '@waymark/cache';
import { ApiError } from '@waymark/contract';
import { unavailable } from '../model/errors.js';
import type { ReadOptions } from '../model/read-options.js';
import type { WorkspaceRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';

/** Finds the queue shard of a workspace, which has its queue, claims and tail. */
export interface QueueShards {
  /** Number of queue shards. */
  readonly count: number;
  /**
   * Picks the item for the shard of a workspace; for shard 0 if there is no such workspace.
   *
   * @param perShard one item for each shard, by number
   * @throws ApiError 500 with `Retry-After` when the workspace cannot be read, or `perShard` has no item for its shard
   */
  pick<T>(perShard: readonly T[], workspaceId: string): Promise<T>;
  /** Like `pick`, but without a read of a store: undefined when the shard is not cached in this process. */
  pickKnown<T>(perShard: readonly T[], workspaceId: string): T | undefined;
}

/** Maximum number of workspaces whose shard is cached; each takes little memory, because it is one number. */
const WORKSPACES_MAX = 100_000;

/**
 * Creates {@link QueueShards}. The shard of a workspace is in its record. It is chosen when the workspace is created and never changes, so
 * a cached number is valid during any outage, and adding a shard moves nothing.
 *
 * @param count number of shards; with one, nothing is ever read
 * @param laggingRead options of the read, which accept an expired record rather than fail
 */
export function createQueueShards(
  workspaces: Pick<RecordStore<WorkspaceRecord>, 'fresh' | 'get'>,
  count: number,
  laggingRead: ReadOptions,
): QueueShards {
  /** The number of the shard by workspace. */
  const shards = createLru<string, number>(WORKSPACES_MAX);

  function cacheShard(record: WorkspaceRecord): number {
    const shard = record.queueShard ?? 0;
    shards.set(record.id, shard);
    return shard;
  }

  function known(workspaceId: string): number | undefined {
    if (count === 1) return 0;
    const cached = shards.get(workspaceId);
    if (cached !== undefined) return cached;
    const record = workspaces.fresh(workspaceId, workspaceId, laggingRead);
    return record && cacheShard(record);
  }

  async function read(workspaceId: string): Promise<number> {
    try {
      const record = await workspaces.get(workspaceId, workspaceId, laggingRead);
      return record === undefined ? 0 : cacheShard(record);
    } catch (err) {
      throw err instanceof ApiError ? err : unavailable('the queue of the workspace', err);
    }
  }

  return {
    count,
    async pick(perShard, workspaceId) {
      const shard = known(workspaceId) ?? (await read(workspaceId));
      if (shard >= perShard.length) throw unavailable(`queue shard ${shard}, which QUEUE_SHARDS does not name`);
      return perShard[shard] as (typeof perShard)[number];
    },
    pickKnown(perShard, workspaceId) {
      const shard = known(workspaceId);
      return shard === undefined ? undefined : perShard[shard];
    },
  };
}

/** The shard for a new workspace: the one with the fewest workspaces, so that an added shard is filled first. */
export function leastUsedShard(workspaces: readonly WorkspaceRecord[], count: number): number {
  const used = Array.from({ length: count }, () => 0);
  for (const { queueShard = 0 } of workspaces) used[queueShard] = (used[queueShard] ?? 0) + 1;
  return used.slice(0, count).reduce((least, number, shard) => (number < (used[least] ?? 0) ? shard : least), 0);
}
