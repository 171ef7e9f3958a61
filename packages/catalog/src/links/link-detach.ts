import { hasId } from '../lists/list-conditions.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import { changeAll } from '../store/bulk-changes.js';
import type { RecordStore } from '../store/record-store.js';

/** Removes the references that links have to a record; see `Relations` in `resource.ts`. */
export type Detach = (workspaceId: string, id: string) => Promise<void>;

/** Removes a tag from all links. */
export function tagDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) => {
    const hasTag = { sql: 'has(tag_ids, {tag:UInt64})', values: { tag: BigInt(numberOf('tag', id)) } };
    const tagged = { conditions: [hasTag], has: ({ tagIds }: LinkRecord) => tagIds.includes(id) };
    return changeAll(links, workspaceId, tagged, (link) => ({
      ...link,
      tagIds: link.tagIds.filter((tagId) => tagId !== id),
    }));
  };
}

/** Moves all links out of a folder. */
export function folderDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) => {
    const inFolder = {
      conditions: [hasId('folder_id', 'folder', [id])],
      has: ({ folderId }: LinkRecord) => folderId === id,
    };
    return changeAll(links, workspaceId, inFolder, (link) => ({ ...link, folderId: null }));
  };
}
