import { hasPermission } from '@waymark/contract';
import type { ApiKeyRecord, FolderRecord, LinkRecord } from '../model/record-schemas.js';
import type { Condition } from '../store/list-conditions.js';
import type { RecordStore } from '../store/record-store.js';

/** What a caller sees of the links of a workspace: docs/reference/access.md. */
export interface LinkVisibility {
  /** Folders without an access level, and the links in them, are as if they were not there. */
  readonly hidesFolders: boolean;
  readonly hidesPasswords: boolean;
}

/** Visibility of links for a caller. Every read of links uses it. */
export function linkVisibility({ role, scopes }: Pick<ApiKeyRecord, 'role' | 'scopes'>): LinkVisibility {
  return { hidesFolders: role !== 'owner', hidesPasswords: !hasPermission(role, scopes, 'links.write') };
}

/** Visibility for receivers of webhooks, which have no key of the workspace. */
export const WEBHOOK_VISIBILITY: LinkVisibility = { hidesFolders: false, hidesPasswords: true };

const IS_HIDDEN: Condition = { sql: "access_level = ''", values: {} };

/** The link is in no hidden folder. A subquery, because there may be any number of such folders. */
export const IN_NO_HIDDEN_FOLDER: Condition = {
  sql: `folder_id NOT IN (SELECT id FROM folders FINAL WHERE workspace_id = {workspace:UInt64} AND ${IS_HIDDEN.sql})`,
  values: {},
};

/** Whether that folder is not there for the caller. */
export function isFolderHidden({ hidesFolders }: LinkVisibility, folder: FolderRecord | undefined): boolean {
  return hidesFolders && folder?.accessLevel === null;
}

export function createHiddenFolders(folders: Pick<RecordStore<FolderRecord>, 'getMany' | 'lists'>) {
  return {
    /** Whether the workspace has any that the caller must not see: without them no read needs to leave anything out. */
    async anyFor(workspaceId: string, { hidesFolders }: LinkVisibility): Promise<boolean> {
      return hidesFolders && (await folders.lists.count(workspaceId, [IS_HIDDEN])) > 0;
    },

    /** Those of the workspace's links that the caller may see, in the order given. */
    async seen(workspaceId: string, visibility: LinkVisibility, links: readonly LinkRecord[]): Promise<LinkRecord[]> {
      const folderIds = visibility.hidesFolders ? links.flatMap(({ folderId }) => folderId ?? []) : [];
      if (folderIds.length === 0) return [...links];
      const found = await folders.getMany(workspaceId, [...new Set(folderIds)]);
      return links.filter(({ folderId }) => !isFolderHidden(visibility, found.get(folderId ?? '')));
    },
  };
}
