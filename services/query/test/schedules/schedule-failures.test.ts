import type { ExportScheduleRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { createExportSlots } from '@waymark/export';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createScheduleRunner } from '../../src/schedules/schedule-runner.js';
import { NOW, startQuery, type TestQuery } from '../test-query.js';
import { aSchedule, DUE_MS } from './a-schedule.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(() => NOW);
});
afterAll(() => query.close());

/**
 * Runs a schedule whose events cannot be read, until the runner has logged the failure.
 *
 * @param before called before the read fails
 * @returns the schedule's record after the failure
 */
async function scheduleAfter(failure: Error, before?: (schedule: ExportScheduleRecord) => Promise<unknown>) {
  const { schedule, stored } = await aSchedule(query);
  const logged: unknown[] = [];
  const runner = createScheduleRunner({
    ...{ catalog: query.catalog, redis: query.redis, now: () => DUE_MS, exportSlots: createExportSlots() },
    logger: { warn: (fields: object) => void logged.push(fields) },
    report: async () => undefined,
    async openWindow({ workspace }) {
      // Schedules of earlier tests may still be due.
      if (workspace.id === schedule.workspaceId) await before?.(schedule);
      throw failure;
    },
    openStorage: async () => ({ put: async () => undefined, upload: async () => undefined }),
  });
  onTestFinished(() => runner.close());
  runner.start();
  const isLogged = () => logged.some((one) => (one as { scheduleId?: string }).scheduleId === schedule.id);
  await waitFor(isLogged, { what: 'the failure to be logged' });
  return stored();
}

test.each([
  [new ApiError('internal_server_error', 'The query took too long.'), 'The query took too long.'],
  [new TypeError('a defect'), 'An internal error has stopped the export. The log of the server has its reason.'],
])('a read of events that fails for good (%s) is shown, and tried again after a pause', async (failure, error) => {
  const retryAt = new Date(DUE_MS + 60_000).toISOString();
  expect(await scheduleAfter(failure)).toMatchObject({ error, retryAt, failures: 1, refusals: 0, disabledAt: null });
});

test('one that the stores refuse for the moment is tried again soon, and is no failure', async () => {
  const away = new ApiError('internal_server_error', 'The store does not answer.', { retryAfterSeconds: 1 });
  expect(await scheduleAfter(away)).toMatchObject({ error: null, retryAt: null, failures: 0 });
});

test('the failure of an attempt that another process has replaced does not pause the schedule', async () => {
  const { exportSchedules } = query.catalog;
  const replace = ({ workspaceId, id }: ExportScheduleRecord) =>
    exportSchedules.update(workspaceId, id, ({ attempt }) => ({ attempt: attempt + 1 }));
  const after = await scheduleAfter(new TypeError('a defect'), replace);
  expect(after).toMatchObject({ attempt: 2, error: null, retryAt: null, failures: 0 });
});
