import type { ExportScheduleRecord } from '@waymark/catalog';
import { createExportSlots } from '@waymark/export';
import { startStores, waitFor } from '@waymark/test-kit';
import { expect, test } from 'vitest';
import { createScheduleRunner } from '../../src/schedules/schedule-runner.js';

const notDue = () => Promise.reject(new Error('no window is due'));

test('the end of the next window is reported, too, if another process has exported it while this one reported the last', async () => {
  const stores = await startStores();
  const catalog = stores.catalog();
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const { exportSchedules } = catalog;
  const reported: number[] = [];
  const runner = createScheduleRunner({
    ...{ catalog, redis: stores.client, logger, now: Date.now, exportSlots: createExportSlots() },
    ...{ openWindow: notDue, openStorage: () => Promise.reject(new Error('no window is due')) },
    async report({ workspaceId, id, attempt }: ExportScheduleRecord) {
      reported.push(attempt);
      if (attempt === 1) await exportSchedules.update(workspaceId, id, () => ({ attempt: 2, unreported: 'completed' }));
    },
  } as Parameters<typeof createScheduleRunner>[0]);
  try {
    const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
    const { id } = await exportSchedules.create(workspace.id, {
      ...{ resource: 'events', frequency: 'hourly', format: 'ndjson', columns: null, escapeFormulas: true },
      ...{ filters: {}, rowsPerFile: 1000, keyId: 'key_00000000001', hidesFolders: false, hidesPasswords: false },
      destination: {
        ...{ type: 's3', endpoint: 'http://127.0.0.1:9', region: 'us-east-1', bucket: 'a-bucket', prefix: '' },
        ...{ forcePathStyle: true, accessKeyHint: '…' },
      },
      encryptedCredentials: exportSchedules.seal(workspace.id, { accessKeyId: 'a', secretAccessKey: 'b' }),
      ...{ exportedUntil: '2100-01-01T00:00:00.000Z', attempt: 1, unreported: 'completed' },
    });
    runner.start();
    const isReported = async () => (await exportSchedules.require(workspace.id, id)).unreported === null;
    await waitFor(isReported, { what: 'the reports' });
    expect(reported).toEqual([1, 2]);
  } finally {
    await runner.close();
    await stores.close();
  }
});
