import { ApiError, hasPermission } from '@waymark/contract';
import { dataText, type SqlCondition } from '../lists/list-conditions.js';
import type { ApiKeyRecord, FolderRecord, LinkRecord } from '../model/record-schemas.js';
import { CLOCKS_APART_MS } from '../resources/clocks.js';
import type { RecordStore } from '../store/record-store.js';
import type { KeyCaller } from '../workspaces/api-keys.js';

/** Which links and fields of links a caller may see: docs/reference/access.md. */
export interface LinkVisibility {
  /** Hides folders without an access level, and the links in them. */
  readonly hidesFolders: boolean;
  readonly hidesPasswords: boolean;
}

/** The visibility for an API key. Every read of links for a caller uses it. */
export function linkVisibility({ role, scopes }: Pick<ApiKeyRecord, 'role' | 'scopes'>): LinkVisibility {
  return { hidesFolders: role !== 'owner', hidesPasswords: !hasPermission(role, scopes, 'links.write') };
}

/** The visibility for receivers of webhooks, which have no API key. */
export const WEBHOOK_VISIBILITY: LinkVisibility = { hidesFolders: false, hidesPasswords: true };

/** Selects the jobs and schedules that were created with API keys that may see no more than the caller. */
export function visibleTo({ hidesFolders, hidesPasswords }: LinkVisibility): SqlCondition {
  return {
    sql: 'hides_folders >= {hides_folders:UInt8} AND hides_passwords >= {hides_passwords:UInt8}',
    values: { hides_folders: Number(hidesFolders), hides_passwords: Number(hidesPasswords) },
  };
}

const IS_HIDDEN: SqlCondition = { sql: "access_level = ''", values: {} };

/** The link is not in a hidden folder. A subquery, because there may be any number of hidden folders. */
export const IN_NO_HIDDEN_FOLDER: SqlCondition = {
  sql: `folder_id NOT IN (SELECT id FROM folders FINAL WHERE workspace_id = {workspace:UInt64} AND ${IS_HIDDEN.sql})`,
  values: {},
  selects: 'most',
};

/** Whether the folder is hidden from the caller. */
export function isFolderHidden({ hidesFolders }: LinkVisibility, folder: FolderRecord | undefined): boolean {
  return hidesFolders && folder?.accessLevel === null;
}

/** @throws ApiError forbidden when the folder is hidden from the caller */
export function checkFolderVisible(visibility: LinkVisibility, folder: FolderRecord): void {
  if (!isFolderHidden(visibility, folder)) return;
  throw new ApiError('forbidden', 'You are not allowed to see this folder.');
}

/** Hides links in folders that the caller may not see (docs/reference/access.md). */
export function createHiddenFolders(folders: Pick<RecordStore<FolderRecord>, 'getMany' | 'lists'>) {
  return {
    /** Whether a folder of the workspace is hidden from the caller; if not, reads need no condition on folders. */
    async anyFor(workspaceId: string, { hidesFolders }: LinkVisibility): Promise<boolean> {
      return hidesFolders && (await folders.lists.countFew(workspaceId, [IS_HIDDEN])) > 0;
    },

    /**
     * Whether a folder of the workspace that is hidden from the caller was changed at `since` or later, so that what was read before may
     * show its links. Changes of up to {@link CLOCKS_APART_MS} before count as well: `since` may be of another process.
     *
     * @param since ISO 8601 in UTC
     */
    async anyChangedFor(workspaceId: string, { hidesFolders }: LinkVisibility, since: string): Promise<boolean> {
      if (!hidesFolders) return false;
      const from = new Date(Date.parse(since) - CLOCKS_APART_MS).toISOString();
      const isChanged = { sql: `${dataText('updatedAt')} >= {since:String}`, values: { since: from } };
      return (await folders.lists.countFew(workspaceId, [IS_HIDDEN, isChanged])) > 0;
    },

    /** The links that are in no folder hidden from the caller, in the same order. */
    async visible(
      workspaceId: string,
      visibility: LinkVisibility,
      links: readonly LinkRecord[],
    ): Promise<LinkRecord[]> {
      const folderIds = visibility.hidesFolders ? links.flatMap(({ folderId }) => folderId ?? []) : [];
      if (folderIds.length === 0) return [...links];
      const found = await folders.getMany(workspaceId, [...new Set(folderIds)]);
      return links.filter(({ folderId }) => !isFolderHidden(visibility, found.get(folderId ?? '')));
    },
  };
}

/** The links that the caller may see (docs/reference/access.md), in the same order. */
export function visibleLinks(
  { hiddenFolders }: { readonly hiddenFolders: Pick<ReturnType<typeof createHiddenFolders>, 'visible'> },
  { workspace, apiKey }: KeyCaller,
  links: readonly LinkRecord[],
): Promise<LinkRecord[]> {
  return hiddenFolders.visible(workspace.id, linkVisibility(apiKey), links);
}
