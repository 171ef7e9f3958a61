import { ApiError } from '@waymark/contract';
import type { LinkRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import { linkConflict } from './link-creation.js';

/** What a link becomes; the very record that was given = it stays as it is. May throw to refuse. */
export type LinkChange = (record: LinkRecord) => LinkRecord;

/** Changes and removes links under locks: no field that another change set is lost. */
export function createLinkChanges(store: RecordStore<LinkRecord>, now: () => number) {
  /** All or, when one is refused, none. @returns the links that exist; @throws ApiError conflict */
  async function updateMany(workspaceId: string, ids: readonly string[], change: LinkChange): Promise<LinkRecord[]> {
    let wanted: Pick<LinkRecord, 'domain' | 'key' | 'externalId'> | undefined;
    const changed = (record: LinkRecord) => {
      const next = change(record);
      if (next === record) return record;
      wanted = next;
      return { ...next, updatedAt: new Date(now()).toISOString() };
    };
    return store.updateMany(workspaceId, ids, changed).catch((err: unknown) => {
      throw wanted === undefined ? err : linkConflict(err, wanted);
    });
  }

  return {
    updateMany,

    /** @throws ApiError not_found, conflict */
    async update(workspaceId: string, id: string, change: LinkChange): Promise<LinkRecord> {
      const [updated] = await updateMany(workspaceId, [id], change);
      if (updated === undefined) throw new ApiError('not_found', 'Link not found.');
      return updated;
    },

    /**
     * Their rows stay, marked: that is how their events are known to be of removed links. Keys and external ids are free again.
     *
     * @param mayRemove throws to refuse all, returns false to leave one
     * @returns the links that were removed
     */
    removeMany: store.removeMany,
  };
}
