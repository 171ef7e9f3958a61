import type { ExportScheduleRecord } from '@waymark/catalog';
import { aWorkspace, NOW, type TestQuery } from '../test-query.js';

const DAY_MS = 86_400_000;
/** The midnight after the next: its window is not due, so the service does not export it too. */
export const START = new Date((Math.floor(NOW / DAY_MS) + 2) * DAY_MS).toISOString();
/** When the window that begins at {@link START} is due. */
export const DUE_MS = Date.parse(START) + DAY_MS + 3_600_000;

export const CREDENTIALS = { accessKeyId: 'S3RVER', secretAccessKey: 'secret' };

/** A bucket behind an address that does not answer, unless another one is given. */
export function aDestination(endpoint = 'http://127.0.0.1:9', bucket = 'a-bucket') {
  const place = { type: 's3', endpoint, region: 'us-east-1', bucket, prefix: '' } as const;
  return { ...place, forcePathStyle: true, accessKeyHint: '…' };
}

/** A daily schedule of clicks in a workspace of its own. */
export async function aSchedule(query: TestQuery, more: Partial<ExportScheduleRecord> = {}) {
  const workspace = await aWorkspace(query);
  const { id: workspaceId } = workspace;
  const { exportSchedules, keys } = query.catalog;
  const key = { workspaceId, name: 'Exports', kind: 'secret', role: 'owner', scopes: [] } as const;
  const { record } = await keys.create(key);
  const schedule = await exportSchedules.create(workspaceId, {
    ...{ resource: 'events', frequency: 'daily', format: 'ndjson', columns: null, escapeFormulas: true, filters: {} },
    ...{ rowsPerFile: 1000, exportedUntil: START, keyId: record.id, hidesFolders: false, hidesPasswords: false },
    destination: aDestination(),
    encryptedCredentials: exportSchedules.seal(workspaceId, CREDENTIALS),
    ...more,
  });
  return { workspace, schedule, stored: () => exportSchedules.require(workspaceId, schedule.id) };
}
