import { createExportSlots } from '@waymark/export';
import { JobStopped } from '@waymark/jobs';
import { startStores, waitFor } from '@waymark/test-kit';
import { expect, test } from 'vitest';
import { createScheduleRunner } from '../../src/schedules/schedule-runner.js';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-25T12:30:00Z');

test('workspaces whose schedules have many windows to catch up with leave turns to the others, and so do the schedules of one', async () => {
  const stores = await startStores();
  const catalog = stores.catalog({ now: () => NOW });
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const { exportSchedules, workspaces } = catalog;
  async function addSchedule(workspaceId: string, bucket: string, hoursBehind: number) {
    await exportSchedules.create(workspaceId, {
      ...{ resource: 'events', frequency: 'hourly', format: 'ndjson', columns: null, escapeFormulas: true },
      ...{ filters: {}, rowsPerFile: 1000, keyId: 'key_00000000001', hidesFolders: false, hidesPasswords: false },
      destination: {
        ...{ type: 's3', endpoint: 'http://127.0.0.1:9', region: 'us-east-1', bucket, prefix: '' },
        ...{ forcePathStyle: true, accessKeyHint: '…' },
      },
      encryptedCredentials: exportSchedules.seal(workspaceId, { accessKeyId: 'a', secretAccessKey: 'b' }),
      exportedUntil: new Date(Math.floor(NOW / HOUR_MS - hoursBehind) * HOUR_MS).toISOString(),
    });
  }
  const started: string[] = [];
  const runner = createScheduleRunner({
    ...{ catalog, redis: stores.client, logger, now: () => NOW, exportSlots: createExportSlots() },
    ...{ report: async () => undefined, openWindow: () => Promise.reject(new Error('it is not reached')) },
    // Each attempt ends at once, and leaves its schedule due.
    async openStorage({ bucket }) {
      started.push(bucket);
      throw new JobStopped();
    },
  });
  try {
    for (const slug of ['one', 'two', 'three', 'four', 'five']) {
      const { workspace } = await workspaces.create({ name: slug, slug, plan: 'enterprise' });
      await addSchedule(workspace.id, slug, slug === 'five' ? 1 : 500);
      if (slug === 'one') await addSchedule(workspace.id, 'one too', 1);
    }
    runner.start();
    await waitFor(() => started.length >= 24, { what: 'the attempts' });
    const counts = ['one', 'one too', 'two', 'three', 'four', 'five'].map(
      (bucket) => started.slice(0, 24).filter((one) => one === bucket).length,
    );
    const [one = 0, oneToo = 0, ...others] = counts;
    // The turns of a workspace are a fifth of all, give or take those that run at the same time.
    for (const count of [one + oneToo, ...others]) expect(count).toBeGreaterThan(2);
    expect(Math.abs(one - oneToo)).toBeLessThanOrEqual(1);
  } finally {
    await runner.close();
    await stores.close();
  }
});
