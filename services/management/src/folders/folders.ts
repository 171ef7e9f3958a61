import {
  type ApiKeyRecord,
  type Catalog,
  type FolderRecord,
  isFolderHidden,
  type KeyCaller,
  linkVisibility,
  type WorkspaceRecord,
  workspaceLimits,
} from '@waymark/catalog';
import { ApiError, type CreateFolderBody, type Folder, planAtLeast } from '@waymark/contract';

/** The folder object of every response. */
export function folderObject(record: FolderRecord): Folder {
  const { id, name, description, type, accessLevel, createdAt, updatedAt } = record;
  return { id, name, description, type, accessLevel, createdAt, updatedAt };
}

/** Access levels other than `write` need the plan business. */
function checkAccessLevel(workspace: WorkspaceRecord, accessLevel: FolderRecord['accessLevel'] | undefined): void {
  if (accessLevel === undefined || accessLevel === 'write' || planAtLeast(workspace.plan, 'business')) return;
  throw new ApiError('forbidden', 'An accessLevel other than "write" needs the plan business or higher.');
}

function checkVisible(apiKey: ApiKeyRecord, folder: FolderRecord): void {
  if (isFolderHidden(linkVisibility(apiKey), folder)) throw new ApiError('not_found', 'Folder not found.');
}

/** Owners may change any folder, others only those with write access. A hidden folder counts as not found. */
function checkMayChange(apiKey: ApiKeyRecord, folder: FolderRecord): void {
  if (apiKey.role === 'owner' || folder.accessLevel === 'write') return;
  checkVisible(apiKey, folder);
  throw new ApiError('forbidden', 'You are not allowed to change this folder.');
}

/** Finds a folder. @throws ApiError not_found, also for a folder that is hidden from the caller */
export async function visibleFolder(
  catalog: Catalog,
  { workspace, apiKey }: KeyCaller,
  id: string,
): Promise<FolderRecord> {
  const folder = await catalog.folders.require(workspace.id, id);
  checkVisible(apiKey, folder);
  return folder;
}

/** `POST /folders`. @throws ApiError forbidden (plan, quota), conflict */
export function createFolder(catalog: Catalog, workspace: WorkspaceRecord, body: CreateFolderBody) {
  checkAccessLevel(workspace, body.accessLevel);
  const { name, description = null, accessLevel = 'write' } = body;
  const { folders } = workspaceLimits(workspace).quotas;
  return catalog.folders.create(workspace.id, { name, description, accessLevel }, folders);
}

/** `PATCH /folders/{id}`. @throws ApiError not_found, forbidden (plan, access level), conflict */
export function updateFolder(
  catalog: Catalog,
  { workspace, apiKey }: KeyCaller,
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

/** `DELETE /folders/{id}`. @throws ApiError not_found, forbidden (access level) */
export async function deleteFolder(catalog: Catalog, { workspace, apiKey }: KeyCaller, id: string): Promise<void> {
  const folder = await catalog.folders.get(workspace.id, id);
  if (folder !== undefined) checkMayChange(apiKey, folder);
  // Also without a folder: an interrupted removal may have left links in it.
  await catalog.folders.remove(workspace.id, id);
}
