import { setTimeout as delay } from 'node:timers/promises';
import { type CatalogRecord, type Name, nameKey, type Stored } from '../model/entity-type.js';
import type { RecordParts, WriteParts } from './write-context.js';

/** A record as it was written, and the names that came and went with it. */
export interface Written<R extends CatalogRecord> {
  readonly stored: Stored<R>;
  readonly gained: readonly Name[];
  readonly lost: readonly Name[];
}

/** Redis may restart in between: a lock's holder has the time. */
const PUBLISH_MS_MAX = 5_000;
const PAUSE_MS = 50;

/** Until it is done. What is repeated must be harmless. @throws what the last try throws */
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
 * Brings the caches up to date: Redis while the locks are held, then, by invalidation, every process. As many round trips for a
 * hundred records of a workspace as for one. Once both are done no process answers from older copies; only then is the write answered.
 */
export function createCacheWrites<R extends CatalogRecord>(parts: WriteParts, { kind, localRecords }: RecordParts<R>) {
  const { cache, now } = parts;

  async function tryAll(work: readonly Promise<unknown>[]): Promise<void> {
    for (const outcome of await Promise.allSettled(work)) {
      if (outcome.status === 'rejected') parts.logger.warn({ err: outcome.reason }, 'catalog cache was not updated');
    }
  }

  async function publish(written: readonly Written<R>[], isRemoved: boolean): Promise<void> {
    if (written.length === 0) return;
    const names = written.flatMap(({ gained, lost }) => [...gained, ...lost].map(nameKey));
    const records = written.map(({ stored: { record, version } }) => ({
      ...{ table: kind.table, workspaceId: record.workspaceId, id: record.id },
      ...{ version, isRemoved },
    }));
    await retryUntilDone(() => parts.publish({ names, records }));
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

    /** To be awaited before the answer. */
    publishWritten: (written: readonly Written<R>[]) => publish(written, false),

    /**
     * @param removed records of one workspace, marked in the table already
     * @throws ApiError 500 with `Retry-After` when Redis stays away
     */
    evictNames: (removed: readonly Written<R>[]): Promise<void> =>
      retryUntilDone(() => Promise.all(removed.flatMap(({ lost }) => lost.map(cache.dropName)))),

    /** To be awaited before the answer. */
    publishRemoved: (removed: readonly Written<R>[]) => publish(removed, true),
  };
}
export type CacheWrites<R extends CatalogRecord> = ReturnType<typeof createCacheWrites<R>>;
