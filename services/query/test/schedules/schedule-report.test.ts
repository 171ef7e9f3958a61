import type { JobEndNotifier } from '@waymark/webhooks';
import { expect, test } from 'vitest';
import { createScheduleReport } from '../../src/schedules/schedule-report.js';
import { anExportedSchedule } from './an-exported-schedule.js';

test('a window that is exported again is another end; a report that is repeated is not', async () => {
  const ends: Parameters<JobEndNotifier['ended']>[0][] = [];
  const report = createScheduleReport({ ended: async (end) => void ends.push(end) });
  for (const finishedAt of ['2026-11-25T11:05:01.000Z', '2026-11-25T11:05:01.000Z', '2026-11-26T09:00:00.000Z']) {
    await report(anExportedSchedule(finishedAt));
  }
  expect(ends.map(({ event }) => event)).toEqual(Array(3).fill('export.completed'));
  const [first, repeated, again] = ends.map(({ key }) => key);
  expect(repeated).toBe(first);
  expect(again).not.toBe(first);
});
