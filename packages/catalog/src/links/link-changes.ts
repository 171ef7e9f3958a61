import { ApiError } from '@waymark/contract';
import type { LinkRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import { linkConflict } from './link-creation.js';

/** Returns the changed link, or the same object to leave the link unchanged. May throw or reject to refuse the change. */
export type LinkChange = (record: LinkRecord) => LinkRecord | Promise<LinkRecord>;

/** Changes and removes links under locks, so that concurrent changes do not overwrite each other. */
export function createLinkChanges(store: RecordStore<LinkRecord>, now: () => number) {
  /**
   * Changes all links or, when `change` refuses that for one of them or a name is taken, none.
   *
   * @returns those of the links that exist, as they are stored now
   * @throws ApiError conflict when a name is taken; the error of `change`
   */
  async function updateMany(workspaceId: string, ids: readonly string[], change: LinkChange): Promise<LinkRecord[]> {
    let changedLink: Pick<LinkRecord, 'domain' | 'key' | 'externalId'> | undefined;
    const changed = async (record: LinkRecord) => {
      const next = await change(record);
      if (next === record) return record;
      changedLink = next;
      return { ...next, updatedAt: new Date(now()).toISOString() };
    };
    return store.updateMany(workspaceId, ids, changed).catch((err: unknown) => {
      throw changedLink === undefined ? err : linkConflict(err, changedLink);
    });
  }

  return {
    updateMany,

    /** Changes a link. @throws ApiError not_found, conflict; the error of `change` */
    async update(workspaceId: string, id: string, change: LinkChange): Promise<LinkRecord> {
      const [updated] = await updateMany(workspaceId, [id], change);
      if (updated === undefined) throw new ApiError('not_found', 'Link not found.');
      return updated;
    },

    /**
     * Removes links. Their keys and external ids become free. Their rows stay, marked as removed, because reads of events leave out
     * removed links.
     *
     * @param mayRemove throws to refuse the removal of all, returns false to keep that link
     * @returns the links that were removed
     */
    removeMany: store.removeMany,
  };
}
