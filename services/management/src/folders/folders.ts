import {
  type ApiKeyRecord,
  type Catalog,
  type FolderRecord,
  isFolderHidden,
  linkSight,
  type WorkspaceRecord,
  workspaceLimits,
} from '@waymark/catalog';
import { ApiError, type CreateFolderBody, type Folder, planAtLeast } from '@waymark/contract';

/** The folder object of every response. */
export function folderObject(record: FolderRecord): Folder {
  const { id, name, description, type, accessLevel, createdAt, updatedAt } = record;
  return { id, name, description, type, accessLevel, createdAt, updatedAt };
}

/** Folders that not every member may write to need the plan business. */
function checkAccessLevel(workspace: WorkspaceRecord, accessLevel: FolderRecord['accessLevel'] | undefined): void {
  if (accessLevel === undefined || accessLevel === 'write' || planAtLeast(workspace.plan, 'business')) return;
  throw new ApiError('forbidden', 'An accessLevel other than "write" needs the plan business or higher.');
}

function checkSeen(apiKey: ApiKeyRecord, folder: FolderRecord): void {
  if (isFolderHidden(linkSight(apiKey), folder)) throw new ApiError('not_found', 'Folder not found.');
}

/** Owners may change any folder, others those that they may write to. A folder they must not see is not there. */
function checkMayChange(apiKey: ApiKeyRecord, folder: FolderRecord): void {
  if (apiKey.role === 'owner' || folder.accessLevel === 'write') return;
  checkSeen(apiKey, folder);
  throw new ApiError('forbidden', 'You are not allowed to change this folder.');
}

/** Whose request it is. */
export interface FolderCaller {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: ApiKeyRecord;
}

/** @throws ApiError not_found, also for a folder that the caller must not see */
export async function seenFolder(
  catalog: Catalog,
  { workspace, apiKey }: FolderCaller,
  id: string,
): Promise<FolderRecord> {
  const folder = await catalog.folders.require(workspace.id, id);
  checkSeen(apiKey, folder);
  return folder;
}

/** @throws ApiError forbidden (plan, quota), conflict */
export function createFolder(catalog: Catalog, workspace: WorkspaceRecord, body: CreateFolderBody) {
  checkAccessLevel(workspace, body.accessLevel);
  const { name, description = null, accessLevel = 'write' } = body;
  const { folders } = workspaceLimits(workspace).quotas;
  return catalog.folders.create(workspace.id, { name, description, accessLevel }, folders);
}

/** @throws ApiError not_found, forbidden (plan, access level), conflict */
export function updateFolder(
  catalog: Catalog,
  { workspace, apiKey }: FolderCaller,
  id: string,
  body: Partial<CreateFolderBody>,
): Promise<FolderRecord> {
  checkAccessLevel(workspace, body.accessLevel);
  return catalog.folders.update(workspace.id, id, (folder) => {
    checkMayChange(apiKey, folder);
    const { name = folder.name, description = folder.description, accessLevel = folder.accessLevel } = body;
    return { name, description, accessLevel };
  });
}

/** @throws ApiError not_found, forbidden (access level) */
export async function deleteFolder(catalog: Catalog, { workspace, apiKey }: FolderCaller, id: string): Promise<void> {
  checkMayChange(apiKey, await catalog.folders.require(workspace.id, id));
  await catalog.folders.remove(workspace.id, id);
}
