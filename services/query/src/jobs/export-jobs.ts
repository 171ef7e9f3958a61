import { join } from 'node:path';
import type { Catalog } from '@waymark/catalog';
import type { ExportDeps } from '@waymark/export';
import type { App, Logger } from '@waymark/http-kit';
import type { ExportNotifier } from '@waymark/webhooks';
import type { Redis } from 'ioredis';
import type { ReadRunners } from '../workspace-concurrency.js';
import { createJobEnds } from './job-ends.js';
import { createJobFiles } from './job-files.js';
import { jobRoutes } from './job-routes.js';
import { createJobRunner } from './job-runner.js';
import { createJobSources } from './job-source.js';

/** What jobs need besides the routes of the service. */
export interface JobSettings {
  readonly redis: Redis;
  readonly logger: Pick<Logger, 'warn'>;
  /** Files of jobs are below it; processes that share it share the jobs. */
  readonly dataDir: string;
  /** Most bytes of all files. */
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
  readonly notifier: Pick<ExportNotifier, 'ended'>;
  readonly now: () => number;
}

/** Adds the routes of export jobs, and runs jobs while the app is open. */
export async function exportJobs(app: App, deps: ExportJobsDeps): Promise<void> {
  const files = createJobFiles(join(deps.dataDir, 'exports'));
  const openJob = createJobSources(deps);
  const ends = createJobEnds({ ...deps, files, bytesMax: deps.exportBytesMax });
  const runner = createJobRunner({ ...deps, files, ends, openJob, makeRoom: ends.makeRoom });
  await jobRoutes(app, { ...deps, files, ends, openJob });
  app.addHook('onReady', async () => runner.start());
  app.addHook('preClose', () => runner.close());
}
