import { join } from 'node:path';
import { type Catalog, IMPORT_JOBS_TABLE } from '@waymark/catalog';
import { IMPORT_BYTES_MAX } from '@waymark/contract';
import type { ExportDeps } from '@waymark/export';
import { type App, type Logger, limitGarbage } from '@waymark/http-kit';
import { createJobRunner } from '@waymark/jobs';
import type { Outbound } from '@waymark/outbound';
import { createJobEndNotifier } from '@waymark/webhooks';
import type { Redis } from 'ioredis';
import { createImportEnds } from './import-ends.js';
import { createImportFiles } from './import-files.js';
import { importRoutes } from './import-routes.js';
import { IMPORT_MS_MAX, runImport } from './run-import.js';
import { createUploadSlots } from './upload-slots.js';

/** Dependencies of imports that other routes of the service do not have. */
export interface ImportSettings {
  readonly redis: Redis;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
  /** Parent of the directory with the files of imports. Processes that share it can run each other's imports. */
  readonly dataDir: string;
  /** Maximum bytes of the files of all imports. */
  readonly importBytesMax: number;
  /** Maximum bytes of one uploaded file; only tests set it. */
  readonly importFileBytesMax?: number | undefined;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
}

export interface ImportJobsDeps extends ImportSettings, ExportDeps {
  readonly catalog: Catalog;
  /** The Redis of each queue shard, by number. */
  readonly queueShards: readonly Redis[];
  /** How many replicas of Redis must confirm that the end of an import is queued for webhooks; 0 by default. */
  readonly waitReplicas?: number | undefined;
  readonly outbound: Outbound;
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

/** Imports that a process runs at the same time, each of another workspace. Those that wait for their sources do not count. */
const JOBS_MAX = 4;

/** Adds the routes of imports, and runs imports while the app is open. */
export async function importJobs(app: App, deps: ImportJobsDeps): Promise<void> {
  const { catalog } = deps;
  const files = createImportFiles(join(deps.dataDir, 'imports'));
  const jobEndNotifier = createJobEndNotifier(deps);
  const ends = createImportEnds({ ...deps, files, jobEndNotifier });
  const busy = new Set<string>();
  const runner = createJobRunner({
    ...deps,
    what: 'import',
    table: IMPORT_JOBS_TABLE,
    subscribe: catalog.subscribe,
    get: catalog.importJobs.get,
    begin: catalog.importJobs.begin,
    interrupted: catalog.importJobs.interrupted,
    listOpen: ends.sweep,
    takeSlot(workspaceId) {
      if (busy.has(workspaceId)) return undefined;
      busy.add(workspaceId);
      const endLimit = limitGarbage();
      return () => {
        busy.delete(workspaceId);
        endLimit();
      };
    },
    async run(job, signal, slot, onProgress) {
      await runImport({ ...deps, files, slot, onProgress }, job, signal);
      await ends.complete(job);
    },
    fail: ends.fail,
    report: ends.report,
    jobsMax: JOBS_MAX,
    ageMsMax: IMPORT_MS_MAX,
  });
  // Forms are accepted by these routes only.
  const { importFileBytesMax: fileBytesMax = IMPORT_BYTES_MAX } = deps;
  const routeDeps = { ...deps, files, ends, uploadSlots: createUploadSlots(), fileBytesMax };
  app.register(async (scope) => importRoutes(scope as App, routeDeps));
  app.addHook('onReady', async () => runner.start());
  app.addHook('preClose', () => runner.close());
  app.addHook('onClose', async () => jobEndNotifier.close());
}
