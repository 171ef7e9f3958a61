import type { ExportScheduleRecord } from '@waymark/catalog';
import type { JobEndNotifier } from '@waymark/webhooks';
import { expect, test } from 'vitest';
import { createScheduleReport } from '../../src/schedules/schedule-report.js';

const WINDOW = { start: '2026-11-25T10:00:00.000Z', end: '2026-11-25T11:00:00.000Z' };

function aSchedule(finishedAt: string): ExportScheduleRecord {
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

test('a window that is exported again is another end; a report that is repeated is not', async () => {
  const ends: Parameters<JobEndNotifier['ended']>[0][] = [];
  const report = createScheduleReport({ ended: async (end) => void ends.push(end) });
  for (const finishedAt of ['2026-11-25T11:05:01.000Z', '2026-11-25T11:05:01.000Z', '2026-11-26T09:00:00.000Z']) {
    await report(aSchedule(finishedAt));
  }
  expect(ends.map(({ event }) => event)).toEqual(Array(3).fill('export.completed'));
  const [first, repeated, again] = ends.map(({ key }) => key);
  expect(repeated).toBe(first);
  expect(again).not.toBe(first);
});
