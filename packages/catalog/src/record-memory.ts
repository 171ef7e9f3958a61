import { type CatalogRecord, type Name, nameKey, type Stored } from './kind.js';
import type { RecordParts, WriteParts } from './write-parts.js';

/** A record as it was written, and the names that came and went with it. */
export interface Written<R extends CatalogRecord> {
  readonly stored: Stored<R>;
  readonly gained: readonly Name[];
  readonly lost: readonly Name[];
}

/**
 * Tells the caches, here, in Redis and, by announcement, everywhere, what was written: as many round trips for a hundred
 * records of a workspace as for one. Failing costs freshness only.
 */
export function createRecordMemory<R extends CatalogRecord>(parts: WriteParts, { kind, localRecords }: RecordParts<R>) {
  const { cache, localNames, now } = parts;

  async function tryAll(work: readonly Promise<unknown>[]): Promise<void> {
    for (const outcome of await Promise.allSettled(work)) {
      if (outcome.status === 'rejected') parts.logger.warn({ err: outcome.reason }, 'catalog cache was not updated');
    }
  }

  async function announce(written: readonly Written<R>[], isRemoved: boolean): Promise<void> {
    const names = written.flatMap(({ gained, lost }) => [...gained, ...lost].map(nameKey));
    const records = written.map(({ stored: { record, version } }) => ({
      ...{ table: kind.table, workspaceId: record.workspaceId, id: record.id },
      ...{ version, isRemoved },
    }));
    await tryAll([parts.announce({ names, records })]);
  }

  return {
    tryAll,

    /** @param written records of one workspace, in the table already */
    async remember(workspaceId: string, written: readonly Written<R>[]): Promise<void> {
      const work: Promise<unknown>[] = [];
      for (const { stored, gained, lost } of written) {
        const owner = { workspaceId, id: stored.record.id };
        localRecords.put(`${workspaceId}/${owner.id}`, stored, now());
        for (const name of gained) {
          localNames.put(nameKey(name), owner);
          work.push(cache.putName(name, owner));
        }
        for (const name of lost) {
          localNames.delete(nameKey(name));
          work.push(cache.dropName(name));
        }
      }
      const entries = written.map(({ stored: { record, version } }) => ({
        ...{ id: record.id, version },
        data: JSON.stringify(record),
      }));
      await tryAll([cache.putRecords(kind.table, workspaceId, entries), ...work]);
      await announce(written, false);
    },

    /** @param removed records of one workspace, marked in the table already */
    async forget(workspaceId: string, removed: readonly Written<R>[]): Promise<void> {
      const names = removed.flatMap(({ lost }) => lost);
      for (const { stored } of removed) localRecords.delete(`${workspaceId}/${stored.record.id}`);
      for (const name of names) localNames.delete(nameKey(name));
      await tryAll(names.map((name) => cache.dropName(name)));
      await announce(removed, true);
    },
  };
}
export type RecordMemory<R extends CatalogRecord> = ReturnType<typeof createRecordMemory<R>>;
