import type { Catalog, ExportJobRecord, KeyCaller } from '@waymark/catalog';
import { ApiError, EXPORT_RESOURCES, type ExportResource } from '@waymark/contract';
import { checkAuthorization, type RouteRequirements } from '@waymark/http-kit';
import { callerOfJob, checkSeesJob } from '@waymark/jobs';
import { z } from 'zod';

/** What a key needs to export a resource: the same as to list it. */
const REQUIREMENTS: Readonly<Record<ExportResource, RouteRequirements>> = {
  events: { permission: 'analytics.read', minimumPlan: 'business', bucket: 'analytics' },
  links: { permission: 'links.read' },
  customers: { roles: ['owner', 'member'], minimumPlan: 'business' },
  analytics: { permission: 'analytics.read', minimumPlan: 'pro', bucket: 'analytics' },
};

const namedResourceSchema = z.object({ resource: z.enum(EXPORT_RESOURCES) });

/** @throws ApiError 403 when the key may not read the resource */
export function checkResource({ apiKey, workspace }: KeyCaller, resource: ExportResource): void {
  checkAuthorization(apiKey, workspace, REQUIREMENTS[resource]);
}

/** Checks that a key may read at least one resource; for the time before the body is parsed. @throws ApiError 403 */
export function checkReadsAny(caller: KeyCaller): void {
  if (readableResources(caller).length > 0) return;
  throw new ApiError('forbidden', 'The API key may read nothing that can be exported.');
}

/** {@link checkResource} for a body that is not validated yet. An unknown resource is left to the validation. @throws ApiError 403 */
export function checkReadsNamed(caller: KeyCaller, body: unknown): void {
  const named = namedResourceSchema.safeParse(body).data;
  if (named !== undefined) checkResource(caller, named.resource);
}

/** For resources that consist of events: checks that the workspace has not used up the events of its plan. @throws ApiError 403 */
export async function checkUsage(
  catalog: Catalog,
  { workspace }: Pick<KeyCaller, 'workspace'>,
  resource: ExportResource,
): Promise<void> {
  if (resource === 'events' || resource === 'analytics') await catalog.eventUsage.check(workspace);
}

/** The resources that the key may read. */
export function readableResources(caller: KeyCaller): ExportResource[] {
  return EXPORT_RESOURCES.filter((resource) => {
    try {
      checkResource(caller, resource);
      return true;
    } catch (err) {
      if (err instanceof ApiError) return false;
      throw err;
    }
  });
}

/**
 * Checks that a key may see an export: it needs access to the resource, and to every folder and password that the key of the export saw.
 *
 * @throws ApiError 403
 */
export function checkVisible(
  caller: KeyCaller,
  job: Pick<ExportJobRecord, 'resource' | 'hidesFolders' | 'hidesPasswords'>,
): void {
  checkResource(caller, job.resource);
  checkSeesJob(caller.apiKey, job, 'export');
}

/**
 * The key of an export with its workspace, as they are now.
 *
 * @throws ApiError 403 or 404 when the key may not read the resource any more
 */
export async function exportCaller(
  catalog: Catalog,
  job: Pick<ExportJobRecord, 'workspaceId' | 'keyId' | 'resource'>,
  nowMs: number,
): Promise<KeyCaller> {
  const caller = await callerOfJob(catalog, job, nowMs, 'export');
  checkResource(caller, job.resource);
  return caller;
}

/**
 * {@link exportCaller}, for a job.
 *
 * @throws ApiError also when the workspace has used up its events
 */
export async function jobCaller(catalog: Catalog, job: ExportJobRecord, nowMs: number): Promise<KeyCaller> {
  const caller = await exportCaller(catalog, job, nowMs);
  await checkUsage(catalog, caller, job.resource);
  return caller;
}
