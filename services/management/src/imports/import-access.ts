import type { Catalog, ImportJobRecord, KeyCaller } from '@waymark/catalog';
import { checkAuthorization, type RouteRequirements } from '@waymark/http-kit';
import { callerOfJob } from '@waymark/jobs';

/** What an API key needs for imports: the same permission as for creating links. */
export const IMPORT_REQUIREMENTS: RouteRequirements = { permission: 'links.write' };

/**
 * The key of an import with its workspace, as they are now.
 *
 * @throws ApiError 403 or 404 when the key may no longer create links
 */
export async function importCaller(
  catalog: Catalog,
  job: Pick<ImportJobRecord, 'workspaceId' | 'keyId'>,
  nowMs: number,
): Promise<KeyCaller> {
  const caller = await callerOfJob(catalog, job, nowMs, 'import');
  checkAuthorization(caller.apiKey, caller.workspace, IMPORT_REQUIREMENTS);
  return caller;
}
