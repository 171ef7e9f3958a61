import type { Catalog } from '@waymark/catalog';
import type { ExportDeps } from '@waymark/export';
import type { App, Logger } from '@waymark/http-kit';
import { createGuardedAgents } from '@waymark/outbound';
import type { JobEndNotifier } from '@waymark/webhooks';
import type { Redis } from 'ioredis';
import type { ReadRunners } from '../workspace-concurrency.js';
import { createScheduleSaver } from './save-schedule.js';
import { createScheduleReport } from './schedule-report.js';
import { scheduleRoutes } from './schedule-routes.js';
import { createScheduleRunner } from './schedule-runner.js';
import { createScheduleSource } from './schedule-source.js';
import type { OpenStorage } from './storage.js';

/** The dependencies that only export schedules need. */
export interface ScheduleSettings {
  /** Networks that scheduled exports may reach although they are private (`OUTBOUND_ALLOWED_RANGES`), as CIDR ranges. */
  readonly outboundAllowedRanges: readonly string[];
}

export interface ExportSchedulesDeps
  extends ExportDeps,
    ScheduleSettings,
    Pick<ReadRunners, 'runJobSlice' | 'isQuiet' | 'yieldToReads'> {
  readonly catalog: Catalog;
  readonly redis: Redis;
  readonly logger: Pick<Logger, 'warn'>;
  readonly notifier: Pick<JobEndNotifier, 'ended'>;
  readonly now: () => number;
}

/** Adds the routes of export schedules, and exports the windows that are due while the app is open. */
export async function exportSchedules(app: App, deps: ExportSchedulesDeps): Promise<void> {
  const agents = createGuardedAgents({ allowedRanges: deps.outboundAllowedRanges });
  // Loading the SDK takes 0.2 s and 15 MB of memory, so it is imported at the first use.
  const openStorage: OpenStorage = async (destination, credentials) => {
    const { openS3Storage } = await import('./s3-storage.js');
    return openS3Storage(agents, destination, credentials);
  };
  const exportDeps = { ...deps, openWindow: createScheduleSource(deps), openStorage };
  const runner = createScheduleRunner({ ...exportDeps, report: createScheduleReport(deps.notifier) });
  await scheduleRoutes(app, { catalog: deps.catalog, saver: createScheduleSaver(exportDeps) });
  app.addHook('onReady', async () => runner.start());
  app.addHook('preClose', async () => {
    await runner.close();
    agents.close();
  });
}
