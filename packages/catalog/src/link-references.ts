import { changeAll } from './change-all.js';
import { hasId } from './conditions.js';
import { numberOf } from './kind.js';
import type { RecordStore } from './record-store.js';
import type { LinkRecord } from './records.js';

type Detach = (workspaceId: string, id: string) => Promise<void>;

/** Takes a tag off every link. */
export function tagDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) => {
    const hasTag = { sql: 'has(tag_ids, {tag:UInt64})', values: { tag: BigInt(numberOf('tag', id)) } };
    return changeAll(links, workspaceId, [hasTag], (link) =>
      link.tagIds.includes(id) ? { ...link, tagIds: link.tagIds.filter((tagId) => tagId !== id) } : link,
    );
  };
}

/** Leaves every link of a folder without one. */
export function folderDetacher(links: RecordStore<LinkRecord>): Detach {
  return (workspaceId, id) =>
    changeAll(links, workspaceId, [hasId('folder_id', 'folder', [id])], (link) =>
      link.folderId === id ? { ...link, folderId: null } : link,
    );
}
