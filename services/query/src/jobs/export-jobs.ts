import { join } from 'node:path';
import { type Catalog, EXPORT_JOBS_TABLE } from '@waymark/catalog';
import type { ExportDeps } from '@waymark/export';
import type { App, Logger } from '@waymark/http-kit';
import { createJobRunner } from '@waymark/jobs';
import type { JobEndNotifier } from '@waymark/webhooks';
import type { Redis } from 'ioredis';
import type { ReadRunners } from '../workspace-concurrency.js';
import { createJobEnds } from './job-ends.js';
import { createJobFiles } from './job-files.js';
import { jobRoutes } from './job-routes.js';
import { createJobSources } from './job-source.js';
import { runJob } from './run-job.js';

/** The dependencies that only export jobs and schedules need. */
export interface JobSettings {
  readonly redis: Redis;
  readonly logger: Pick<Logger, 'warn'>;
  /** The files of jobs are below `exports` in this directory. All processes of `query` must share it, because each may run any job. */
  readonly dataDir: string;
  /** Limit on the bytes of all files together. */
  readonly exportBytesMax: number;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  /** The domain that every workspace may use. */
  readonly defaultDomain: string | undefined;
}

export interface ExportJobsDeps
  extends ExportDeps,
    Pick<ReadRunners, 'runJobSlice' | 'isQuiet' | 'yieldToReads'>,
    JobSettings {
  readonly catalog: Catalog;
  readonly notifier: Pick<JobEndNotifier, 'ended'>;
  readonly now: () => number;
}

const DAY_MS = 24 * 3_600_000;

/** Adds the routes of export jobs, and runs jobs while the app is open. */
export async function exportJobs(app: App, deps: ExportJobsDeps): Promise<void> {
  const files = createJobFiles(join(deps.dataDir, 'exports'));
  const openJob = createJobSources(deps);
  const ends = createJobEnds({ ...deps, files, bytesMax: deps.exportBytesMax });
  const { catalog, exportSlots } = deps;
  const runDeps = { ...deps, files, openJob, makeRoom: ends.makeRoom };
  const runner = createJobRunner({
    ...deps,
    what: 'export',
    table: EXPORT_JOBS_TABLE,
    subscribe: catalog.subscribe,
    get: catalog.exportJobs.get,
    begin: catalog.exportJobs.begin,
    interrupted: catalog.exportJobs.interrupted,
    async listOpen() {
      const idsWithFiles = await files.ids();
      const open = await catalog.exportJobs.listOpen();
      await ends.sweep(idsWithFiles, open);
      return open.records;
    },
    takeSlot: (workspaceId) => exportSlots.tryTake(workspaceId)?.free,
    run: async (job, signal, _slot, onProgress) => ends.complete(job, await runJob(runDeps, job, signal, onProgress)),
    fail: ends.fail,
    report: ends.report,
    jobsMax: 1,
    ageMsMax: DAY_MS,
  });
  await jobRoutes(app, { ...deps, files, ends, openJob });
  app.addHook('onReady', async () => runner.start());
  app.addHook('preClose', () => runner.close());
}
