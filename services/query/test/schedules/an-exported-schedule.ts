import type { ExportScheduleRecord } from '@waymark/catalog';

const WINDOW = { start: '2026-11-25T10:00:00.000Z', end: '2026-11-25T11:00:00.000Z' };

/** The record of a schedule that has exported a window, finished at this time. */
export function anExportedSchedule(finishedAt: string): ExportScheduleRecord {
  return {
    ...{ id: 'sched_1', workspaceId: 'ws_1', createdAt: WINDOW.start, updatedAt: WINDOW.start, keyId: 'key_1' },
    ...{ resource: 'events', frequency: 'hourly', format: 'csv', columns: null, escapeFormulas: true, filters: {} },
    ...{ rowsPerFile: 1000, hidesFolders: false, hidesPasswords: false, encryptedCredentials: '' },
    destination: {
      ...{ type: 's3', endpoint: null, region: 'us-east-1', bucket: 'a-bucket', prefix: '', forcePathStyle: false },
      accessKeyHint: '…',
    },
    ...{ exportedUntil: WINDOW.end, run: null, attempt: 1, unreported: 'completed', error: null, retryAt: null },
    ...{ refusals: 0, failures: 0, disabledAt: null, disabledReason: null },
    lastWindow: { window: WINDOW, rows: 1, bytes: 1, files: 1, manifest: 'manifest.json', finishedAt },
  } as ExportScheduleRecord;
}
