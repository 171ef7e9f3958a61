import { type CatalogRecord, type Name, nameKey, type Stored } from '../model/entity-type.js';
import type { Lock } from '../redis/locks.js';
import { retryWrite } from './retry-write.js';
import { localKey } from './shared-look-ups.js';
import type { RecordDeps, WriteDeps } from './write-context.js';

/** A record as it was written, and the names that it has gained and lost by the write. */
export interface Written<R extends CatalogRecord> {
  readonly stored: Stored<R>;
  readonly gained: readonly Name[];
  readonly lost: readonly Name[];
}

/**
 * Updates the caches after a write: first Redis, while the locks are held, then the caches of all processes, by invalidations. A write is
 * answered after both, so that no process serves an older copy. A hundred records of a workspace take as many round trips as one.
 */
export function createCacheWrites<R extends CatalogRecord>(deps: WriteDeps, { kind, localRecords }: RecordDeps<R>) {
  const { cache } = deps;

  const changeOf = ({ workspaceId, id }: Pick<R, 'workspaceId' | 'id'>, version: number, isRemoved: boolean) => ({
    table: kind.table,
    workspaceId,
    id,
    version,
    isRemoved,
  });

  /** @param absent records that were removed earlier */
  async function publish(
    written: readonly Written<R>[],
    isRemoved: boolean,
    absent: readonly Pick<R, 'workspaceId' | 'id'>[] = [],
  ): Promise<void> {
    const records = [
      ...written.map(({ stored: { record, version } }) => changeOf(record, version, isRemoved)),
      ...absent.map((key) => changeOf(key, deps.now(), true)),
    ];
    if (records.length === 0) return;
    const names = written.flatMap(({ gained, lost }) => [...gained, ...lost].map(nameKey));
    await retryWrite(() => deps.publish({ names, records }));
  }

  return {
    /**
     * Stores written records in Redis and in this process. Call it while their locks are held. If this process was suspended until the locks
     * had expired, another may have answered a later change: a copy is fresh only for a second from when the locks were taken.
     *
     * @param written records of one workspace, which are in the table already
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    async updateCaches(workspaceId: string, written: readonly Written<R>[], { takenMs }: Lock): Promise<void> {
      const entries = written.map(({ stored }) => {
        const { record, version } = stored;
        const data = JSON.stringify(record);
        localRecords.put(localKey(workspaceId, record.id), stored, takenMs, data.length);
        return { id: record.id, version, data };
      });
      await retryWrite(() =>
        Promise.all([
          cache.putRecords(kind.table, workspaceId, entries),
          ...written.flatMap(({ stored: { record }, gained }) =>
            gained.map((name) => cache.putName(name, { workspaceId, id: record.id })),
          ),
          ...written.flatMap(({ lost }) => lost.map(cache.dropName)),
        ]),
      );
    },

    /** Evicts older copies of changed records in all processes. Await it before the write is answered, after the locks are released. */
    publishWritten: (written: readonly Written<R>[]) => publish(written, false),

    /**
     * Removes the names of removed records from Redis. Call it while their locks are held.
     *
     * @param removed records of one workspace, which are marked as removed in the table already
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    evictNames: (removed: readonly Written<R>[]): Promise<void> =>
      retryWrite(() => Promise.all(removed.flatMap(({ lost }) => lost.map(cache.dropName)))),

    /**
     * Evicts removed records in all processes. Await it before the write is answered, after the locks are released.
     *
     * @param absent records that do not exist, and may have been removed by a process that ended before it published it
     */
    publishRemoved: (removed: readonly Written<R>[], absent: readonly Pick<R, 'workspaceId' | 'id'>[]) =>
      publish(removed, true, absent),
  };
}
export type CacheWrites<R extends CatalogRecord> = ReturnType<typeof createCacheWrites<R>>;
