import { type ApiKeyRecord, type Catalog, linkVisibility } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';

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
    'This file may contain links of a folder that was hidden, or changed, after it was begun.',
  );
}
