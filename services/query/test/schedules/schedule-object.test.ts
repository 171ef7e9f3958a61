import type { ExportScheduleRecord } from '@waymark/catalog';
import { exportScheduleSchema } from '@waymark/contract';
import { expect, test } from 'vitest';
import { scheduleObject } from '../../src/schedules/schedule-object.js';
import { anExportedSchedule } from './an-exported-schedule.js';

test('fields of a later release in the destination and the last window are left out of answers', () => {
  const known = anExportedSchedule('2026-11-25T11:05:01.000Z');
  const later = {
    ...known,
    destination: { ...known.destination, later: 1 },
    lastWindow: known.lastWindow && { ...known.lastWindow, window: { ...known.lastWindow.window, later: 1 }, later: 1 },
  } as ExportScheduleRecord;
  expect(scheduleObject(later)).toEqual(exportScheduleSchema.parse(scheduleObject(known)));
});
