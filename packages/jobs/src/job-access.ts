import { type ApiKeyRecord, type Catalog, isExpired, type KeyCaller, linkVisibility } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';

/**
 * Loads the current state of the key that has created a job, and of its workspace. The caller checks what the key may still do.
 *
 * @param what the job in error messages, such as `export`
 * @throws ApiError 403 or 404 when the key is no longer valid
 */
export async function callerOfJob(
  catalog: Pick<Catalog, 'keys' | 'workspaces'>,
  { workspaceId, keyId }: { readonly workspaceId: string; readonly keyId: string },
  nowMs: number,
  what: string,
): Promise<KeyCaller> {
  const [apiKey, workspace] = await Promise.all([
    catalog.keys.get(workspaceId, keyId),
    catalog.workspaces.get(workspaceId),
  ]);
  if (workspace === undefined) throw new ApiError('not_found', `The workspace of this ${what} was deleted.`);
  if (apiKey === undefined) throw new ApiError('forbidden', `The API key that created this ${what} was revoked.`);
  if (isExpired(apiKey, nowMs)) {
    throw new ApiError('forbidden', `The API key that created this ${what} has expired.`);
  }
  return { apiKey, workspace };
}

/**
 * Checks that a key may see everything that the key of a job may see, because the files of the job may contain it.
 *
 * @param what the job in the error message, such as `export`
 * @throws ApiError 403
 */
export function checkSeesJob(
  apiKey: ApiKeyRecord,
  job: { readonly hidesFolders: boolean; readonly hidesPasswords: boolean },
  what: string,
): void {
  const { hidesFolders, hidesPasswords } = linkVisibility(apiKey);
  if ((hidesFolders && !job.hidesFolders) || (hidesPasswords && !job.hidesPasswords)) {
    throw new ApiError('forbidden', `This ${what} was created with an API key that has more access than this one.`);
  }
}

/** What is needed of a job whose file is to be read. */
export interface JobWithFile {
  readonly workspaceId: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
}

/**
 * Checks that a key may read a file of a job: since the job began, no folder was hidden from the key whose links may be in it.
 *
 * @throws ApiError 403
 */
export async function checkFileVisible(
  { hiddenFolders }: Pick<Catalog, 'hiddenFolders'>,
  apiKey: ApiKeyRecord,
  { workspaceId, createdAt, startedAt }: JobWithFile,
): Promise<void> {
  if (!(await hiddenFolders.anyChangedFor(workspaceId, linkVisibility(apiKey), startedAt ?? createdAt))) return;
  throw new ApiError(
    'forbidden',
    'This file may contain links of a folder that was hidden, or changed, after the file was begun or in the half minute before.',
  );
}
