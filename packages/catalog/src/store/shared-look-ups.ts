import type { RecentChanges } from '@waymark/cache';
import type { CatalogRecord } from '../model/entity-type.js';

/** The key of a record in the caches of this process, in {@link SharedLookUps} and in the {@link RecentChanges} of its type. */
export const localKey = (workspaceId: string, id: string) => `${workspaceId}/${id}`;

interface LookUp<R> {
  readonly found: Promise<R | undefined>;
  /** Number of changes when it began. */
  readonly since: number;
}

/** Look-ups of records of one type in one store, by id or by name, that concurrent calls share (single-flight). */
export interface SharedLookUps<R extends CatalogRecord> {
  /**
   * The result of the look-up that is under way for this key, or else of `start`. It is never from before a change of the record, or of the
   * name, that this process had received before the call.
   *
   * @param start its `leave` ends the sharing: later calls begin look-ups of their own
   */
  share(key: string, start: (leave: () => void) => Promise<R | undefined>): Promise<R | undefined>;
  /** Ends the sharing of look-ups by these keys: later calls begin look-ups of their own. */
  leave(keys: Iterable<string>): void;
  /** Ends the sharing of all look-ups. */
  leaveAll(): void;
}

/** @param changes the changes of the type's records and names */
export function createSharedLookUps<R extends CatalogRecord>(changes: RecentChanges): SharedLookUps<R> {
  const underWay = new Map<string, LookUp<R>>();

  function begin(key: string, start: (leave: () => void) => Promise<R | undefined>): Promise<R | undefined> {
    const leave = () => {
      if (underWay.get(key) === own) underWay.delete(key);
    };
    const since = changes.count();
    const own: LookUp<R> = { found: start(leave).finally(leave), since };
    underWay.set(key, own);
    return own.found;
  }

  return {
    async share(key, start) {
      const known = underWay.get(key);
      if (known === undefined) return begin(key, start);
      const isAfterChanges = changes.count() > known.since;
      const found = await known.found;
      if (!isAfterChanges || found === undefined) return found;
      // Which record a look-up by name concerns is known only now, so a change of that record has not ended its sharing.
      if (!changes.isChangedSince(localKey(found.workspaceId, found.id), known.since)) return found;
      // A look-up that is under way now began after this call.
      return underWay.get(key)?.found ?? begin(key, start);
    },

    leave(keys) {
      for (const key of keys) underWay.delete(key);
    },

    leaveAll: () => underWay.clear(),
  };
}
