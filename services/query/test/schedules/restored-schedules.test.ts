import { type ExportScheduleRecord, linkVisibility } from '@waymark/catalog';
import type { ExportSchedule } from '@waymark/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, NOW, startQuery, type TestQuery } from '../test-query.js';

const BACKUP_AT = '2026-11-20T02:00:00.000Z';
/** The hour in which the backup was made, and the current one. */
const EXPORTED_UNTIL = '2026-11-20T02:00:00.000Z';
const CURRENT = '2026-11-21T14:00:00.000Z';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(() => NOW);
});
afterAll(() => query.close());

/** A schedule as a backup has it, in a workspace of its own. */
async function restored(more: Partial<ExportScheduleRecord> = {}) {
  const { id: workspaceId } = await aWorkspace(query);
  const { exportSchedules, keys } = query.catalog;
  const { record, token } = await keys.create({
    ...{ workspaceId, name: 'Exports', kind: 'secret', role: 'owner', scopes: [] },
  });
  const { id } = await exportSchedules.create(workspaceId, {
    ...{ resource: 'events', frequency: 'hourly', format: 'ndjson', columns: null, escapeFormulas: true, filters: {} },
    ...{ rowsPerFile: 1000, exportedUntil: EXPORTED_UNTIL, keyId: record.id, ...linkVisibility(record) },
    // Saved by an earlier release or not: nothing is uploaded to it.
    destination: {
      ...{ type: 's3', endpoint: 'http://127.0.0.1:9', region: 'us-east-1', bucket: 'a-bucket', prefix: '' },
      ...{ forcePathStyle: true, accessKeyHint: '…' },
    },
    encryptedCredentials: exportSchedules.seal(workspaceId, { accessKeyId: 'a', secretAccessKey: 'b' }),
    // Until it is restored, so that the service does not export it.
    ...{ disabledAt: BACKUP_AT, disabledReason: 'It was disabled by a request.', ...more },
  });
  await exportSchedules.disableRestored(BACKUP_AT, new Date(NOW).toISOString());
  const patch = async (body: object): Promise<ExportSchedule & { error: unknown }> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await query.app.inject({ method: 'PATCH', url: `/exports/schedules/${id}`, headers, payload: body });
    return answer.json();
  };
  return { patch, stored: () => exportSchedules.require(workspaceId, id) };
}

test('a restored schedule that is enabled continues with the current window, so that it overwrites none of those before', async () => {
  const { patch, stored } = await restored();
  expect(await patch({ rowsPerFile: 2000 })).toMatchObject({ disabledAt: BACKUP_AT });
  expect((await stored()).exportedUntil).toBe(EXPORTED_UNTIL);
  expect(await patch({ disabled: false })).toMatchObject({ disabledAt: null, nextWindow: { start: CURRENT } });
  expect(await stored()).toMatchObject({ isRestored: false, run: null });
  // Later it continues like any other one.
  await patch({ disabled: true });
  expect(await patch({ disabled: false })).toMatchObject({ nextWindow: { start: CURRENT } });
});

test('a window that was being exported at the backup is left as it is in the storage', async () => {
  const run = { end: '2026-11-20T03:00:00.000Z', files: [], lastId: null, manifest: '{}' };
  const { patch, stored } = await restored({ run });
  await patch({ disabled: false });
  expect(await stored()).toMatchObject({ exportedUntil: CURRENT, run: null });
});

test('a restored schedule continues from `since`, which may be before the current window', async () => {
  const { patch } = await restored();
  const since = '2026-11-21T09:30:00Z';
  expect(await patch({ since: '2026-11-21T15:00:00Z' })).toMatchObject({ error: { code: 'unprocessable_entity' } });
  expect(await patch({ since, disabled: false })).toMatchObject({
    ...{ disabledAt: null, nextWindow: { start: '2026-11-21T09:00:00.000Z', end: '2026-11-21T10:00:00.000Z' } },
  });
});

test('a schedule whose next window is a later one at the backup keeps it', async () => {
  const later = '2026-11-21T14:20:00.000Z';
  const { patch } = await restored({ exportedUntil: later });
  expect(await patch({ disabled: false })).toMatchObject({ nextWindow: { start: later } });
});
