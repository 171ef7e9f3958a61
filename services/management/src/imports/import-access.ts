import {
  type ApiKeyRecord,
  type Catalog,
  type ImportJobRecord,
  linkVisibility,
  type WorkspaceRecord,
} from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { checkAuthorization, type RouteRequirements } from '@waymark/http-kit';

/** What an API key needs for imports: the same permission as for creating links. */
export const IMPORT_REQUIREMENTS: RouteRequirements = { permission: 'links.write' };

/** The workspace and API key by whose rights an import runs. */
export interface ImportCaller {
  readonly apiKey: ApiKeyRecord;
  readonly workspace: WorkspaceRecord;
}

/**
 * Checks that a key may read an import. Nothing may be hidden from it that the key of the import can see, because the reports contain
 * links.
 *
 * @throws ApiError 403
 */
export function checkVisible(
  apiKey: ApiKeyRecord,
  job: Pick<ImportJobRecord, 'hidesFolders' | 'hidesPasswords'>,
): void {
  const { hidesFolders, hidesPasswords } = linkVisibility(apiKey);
  if ((hidesFolders && !job.hidesFolders) || (hidesPasswords && !job.hidesPasswords)) {
    throw new ApiError('forbidden', 'This import was made with an API key that sees more than this one.');
  }
}

/**
 * Loads the current state of the key of an import and of its workspace.
 *
 * @throws ApiError 403 or 404 when the key may no longer create links
 */
export async function importCaller(
  catalog: Catalog,
  { workspaceId, keyId }: Pick<ImportJobRecord, 'workspaceId' | 'keyId'>,
  nowMs: number,
): Promise<ImportCaller> {
  const [apiKey, workspace] = await Promise.all([
    catalog.keys.get(workspaceId, keyId),
    catalog.workspaces.get(workspaceId),
  ]);
  if (workspace === undefined) throw new ApiError('not_found', 'The workspace of this import was deleted.');
  if (apiKey === undefined) throw new ApiError('forbidden', 'The API key that made this import was revoked.');
  if (apiKey.expiresAt !== null && Date.parse(apiKey.expiresAt) <= nowMs) {
    throw new ApiError('forbidden', 'The API key that made this import has expired.');
  }
  checkAuthorization(apiKey, workspace, IMPORT_REQUIREMENTS);
  return { apiKey, workspace };
}
