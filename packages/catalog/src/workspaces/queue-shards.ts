import { createLru } from '@waymark/cache';
import { ApiError } from '@waymark/contract';
import { unavailable } from '../model/errors.js';
import type { WorkspaceRecord } from '../model/record-schemas.js';
import type { ReadOptions } from '../store/record-reader.js';
import type { RecordStore } from '../store/record-store.js';

/** Says which queue shard has the queue, the claims and the tail of a workspace. */
export interface QueueShards {
  /** The number of shards. */
  readonly count: number;
  /**
   * The element of `perShard` for the shard of a workspace; that of shard 0 if there is no such workspace.
   *
   * @param perShard one element for each shard, by its number
   * @throws ApiError 500 with `Retry-After` when no store answers, or `perShard` has no such shard
   */
  pick<T>(perShard: readonly T[], workspaceId: string): Promise<T>;
  /** The same if it is cached in this process; sends no request. */
  pickKnown<T>(perShard: readonly T[], workspaceId: string): T | undefined;
}

/** Workspaces whose shard is cached. An entry is one number. */
const WORKSPACES_MAX = 100_000;

/**
 * Reads the shard of a workspace from its record. A workspace gets its shard when it is created and keeps it, so a cached number stays valid
 * through any outage, and adding a shard moves nothing.
 *
 * @param count number of shards; with one, nothing is ever read
 * @param hotRead uses a stale record rather than failing
 */
export function createQueueShards(
  workspaces: Pick<RecordStore<WorkspaceRecord>, 'fresh' | 'get'>,
  count: number,
  hotRead: ReadOptions,
): QueueShards {
  const shards = createLru<string, number>(WORKSPACES_MAX);

  function note(record: WorkspaceRecord): number {
    const shard = record.queueShard ?? 0;
    shards.set(record.id, shard);
    return shard;
  }

  function known(workspaceId: string): number | undefined {
    if (count === 1) return 0;
    const cached = shards.get(workspaceId);
    if (cached !== undefined) return cached;
    const record = workspaces.fresh(workspaceId, workspaceId, hotRead);
    return record && note(record);
  }

  async function read(workspaceId: string): Promise<number> {
    try {
      const record = await workspaces.get(workspaceId, workspaceId, hotRead);
      return record === undefined ? 0 : note(record);
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

/** The shard for a new workspace: the one with the fewest, so that an added shard fills up first. */
export function leastUsedShard(workspaces: readonly WorkspaceRecord[], count: number): number {
  const used = Array.from({ length: count }, () => 0);
  for (const { queueShard = 0 } of workspaces) used[queueShard] = (used[queueShard] ?? 0) + 1;
  return used.slice(0, count).reduce((least, number, shard) => (number < (used[least] ?? 0) ? shard : least), 0);
}
