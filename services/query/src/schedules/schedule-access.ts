import type { Catalog, ExportScheduleRecord, KeyCaller } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { checkAuthorization } from '@waymark/http-kit';
import { checkResource, checkVisible, exportCaller } from '../jobs/export-access.js';

/** Checks that a key may see schedules: it needs what `GET /events` needs. @throws ApiError 403 */
export function checkMayList(caller: KeyCaller): void {
  checkResource(caller, 'events');
}

/** Checks that a key may see a schedule: it needs access to every folder and password that the schedule's key sees. @throws ApiError 403 */
export function checkMayRead(caller: KeyCaller, schedule: ExportScheduleRecord): void {
  checkVisible(caller, schedule);
}

/**
 * Checks that a key may create, change or remove schedules. Like a webhook, a schedule sends events out of the installation without a
 * request for them, so the key needs the permission to write webhooks.
 *
 * @throws ApiError 403
 */
export function checkMayWrite(caller: KeyCaller): void {
  checkMayList(caller);
  checkAuthorization(caller.apiKey, caller.workspace, { permission: 'webhooks.write' });
}

/** The workspace has used up the events of its plan. This is temporary: a new month begins, or the plan changes. */
export class OverUsage extends Error {
  override readonly name = 'OverUsage';
}

/**
 * The key of a schedule with its workspace, as they are now.
 *
 * @throws ApiError 403 or 404 when the key may not read events any more; OverUsage
 */
export async function scheduleCaller(
  catalog: Catalog,
  schedule: ExportScheduleRecord,
  nowMs: number,
): Promise<KeyCaller> {
  const caller = await exportCaller(catalog, schedule, nowMs);
  try {
    await catalog.eventUsage.check(caller.workspace);
  } catch (err) {
    throw err instanceof ApiError && err.status < 500 ? new OverUsage(err.message) : err;
  }
  return caller;
}
