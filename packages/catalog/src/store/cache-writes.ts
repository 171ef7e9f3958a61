import { setTimeout as delay } from 'node:timers/promises';
import { type CatalogRecord, type Name, nameKey, type Stored } from '../model/entity-type.js';
import type { RecordDeps, WriteDeps } from './write-context.js';

/** A record as it was written, and the names that it gained and lost. */
export interface Written<R extends CatalogRecord> {
  readonly stored: Stored<R>;
  readonly gained: readonly Name[];
  readonly lost: readonly Name[];
}

/** Long enough for a restart of Redis, and shorter than the lifetime of a lock. */
const PUBLISH_MS_MAX = 5_000;
const PAUSE_MS = 50;

/** Retries until `work` succeeds or the time is over. `work` must be idempotent. @throws the error of the last attempt */
async function retryUntilDone(work: () => Promise<unknown>): Promise<void> {
  for (const untilMs = performance.now() + PUBLISH_MS_MAX; ; ) {
    try {
      await work();
      return;
    } catch (err) {
      if (performance.now() > untilMs) throw err;
      await delay(PAUSE_MS);
    }
  }
}

/**
 * Updates the caches after a write: Redis while the locks are held, then, by invalidations, those of every process. A hundred
 * records of a workspace take as many round trips as one. The write is answered after both, so that no process serves an older copy.
 */
export function createCacheWrites<R extends CatalogRecord>(deps: WriteDeps, { kind, localRecords }: RecordDeps<R>) {
  const { cache, now } = deps;

  async function tryAll(work: readonly Promise<unknown>[]): Promise<void> {
    for (const outcome of await Promise.allSettled(work)) {
      if (outcome.status === 'rejected') deps.logger.warn({ err: outcome.reason }, 'catalog cache was not updated');
    }
  }

  async function publish(written: readonly Written<R>[], isRemoved: boolean): Promise<void> {
    if (written.length === 0) return;
    const names = written.flatMap(({ gained, lost }) => [...gained, ...lost].map(nameKey));
    const records = written.map(({ stored: { record, version } }) => ({
      ...{ table: kind.table, workspaceId: record.workspaceId, id: record.id },
      ...{ version, isRemoved },
    }));
    await retryUntilDone(() => deps.publish({ names, records }));
  }

  return {
    tryAll,

    /**
     * @param written records of one workspace, in the table already
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    async updateCaches(workspaceId: string, written: readonly Written<R>[]): Promise<void> {
      for (const { stored } of written) localRecords.put(`${workspaceId}/${stored.record.id}`, stored, now());
      const entries = written.map(({ stored: { record, version } }) => ({
        ...{ id: record.id, version },
        data: JSON.stringify(record),
      }));
      await retryUntilDone(() =>
        Promise.all([
          cache.putRecords(kind.table, workspaceId, entries),
          ...written.flatMap(({ stored: { record }, gained }) =>
            gained.map((name) => cache.putName(name, { workspaceId, id: record.id })),
          ),
          ...written.flatMap(({ lost }) => lost.map(cache.dropName)),
        ]),
      );
    },

    /** Await it before the write is answered. */
    publishWritten: (written: readonly Written<R>[]) => publish(written, false),

    /**
     * @param removed records of one workspace, marked in the table already
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    evictNames: (removed: readonly Written<R>[]): Promise<void> =>
      retryUntilDone(() => Promise.all(removed.flatMap(({ lost }) => lost.map(cache.dropName)))),

    /** Await it before the write is answered. */
    publishRemoved: (removed: readonly Written<R>[]) => publish(removed, true),
  };
}
export type CacheWrites<R extends CatalogRecord> = ReturnType<typeof createCacheWrites<R>>;
