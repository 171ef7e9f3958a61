import type { ExportScheduleRecord } from '@waymark/catalog';
import type { JobEndNotifier } from '@waymark/webhooks';
import { scheduleObject } from './schedule-object.js';

/** Creates the function that sends the webhooks of a schedule: `export.completed` for a window, `export.failed` when it was disabled. */
export function createScheduleReport(notifier: Pick<JobEndNotifier, 'ended'>) {
  return async (schedule: ExportScheduleRecord): Promise<void> => {
    const { workspaceId, id, unreported, lastWindow, disabledAt } = schedule;
    const data = { job: null, schedule: scheduleObject(schedule) };
    if (unreported === 'completed' && lastWindow !== null) {
      const { window, finishedAt } = lastWindow;
      // With the time, because a window may be exported again (`since`). It is stored together with `unreported`, so a repeated report has it, too.
      const end = { key: `${id}/${window.start}/${finishedAt}`, endedMs: Date.parse(finishedAt) };
      await notifier.ended({ workspaceId, event: 'export.completed', ...end, data });
    }
    if (unreported === 'failed' && disabledAt !== null) {
      const end = { key: `${id}/${disabledAt}`, endedMs: Date.parse(disabledAt) };
      await notifier.ended({ workspaceId, event: 'export.failed', ...end, data });
    }
  };
}
