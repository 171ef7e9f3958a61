import { type Catalog, type ExportJobRecord, isExpired, isUnfinished, type OpenExportJob } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { JobFailure, makeRoom, tooManyKept } from '@waymark/jobs';
import type { JobEndNotifier } from '@waymark/webhooks';
import type { JobFiles } from './job-files.js';
import { jobObject } from './job-object.js';
import type { WrittenFile } from './run-job.js';

/** How long a complete file is kept, in milliseconds. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Maximum number of completed jobs of a workspace. */
const KEPT_MAX = 1000;
const MB = 1024 ** 2;

export interface JobEndsDeps {
  readonly catalog: Catalog;
  readonly files: JobFiles;
  /** Limit on the bytes of all files together. */
  readonly bytesMax: number;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly notifier: Pick<JobEndNotifier, 'ended'>;
  readonly now: () => number;
}

type OpenJobs = Awaited<ReturnType<Catalog['exportJobs']['listOpen']>>;

const NO_ROOM = 'The files of exports may have';

/** Ends jobs in each possible way, and removes files. */
export function createJobEnds({ catalog, files, bytesMax, baseUrl, notifier, now }: JobEndsDeps) {
  const { exportJobs } = catalog;

  async function expire({ workspaceId, id }: OpenExportJob): Promise<void> {
    await exportJobs.update(workspaceId, id, ({ status }) => (status === 'completed' ? { status: 'expired' } : {}));
    await files.remove(id);
  }

  return {
    /** Ends a job whose file is complete. */
    async complete(job: ExportJobRecord, { name: file, rows, bytes }: WrittenFile): Promise<void> {
      await exportJobs.end(job, { status: 'completed', file, rows, bytes }, KEPT_MS);
    },

    /** Sends the end of a job to the webhooks of its workspace. @throws when a store is unavailable; then it must be called again */
    async report(job: ExportJobRecord): Promise<void> {
      const { workspaceId, id, finishedAt, status } = job;
      const event = status === 'failed' ? 'export.failed' : 'export.completed';
      const data = { job: await jobObject(files, baseUrl, job), schedule: null };
      await notifier.ended({ workspaceId, event, key: id, endedMs: Date.parse(finishedAt ?? ''), data });
      await exportJobs.reported(job);
    },

    /** Ends a job that cannot be completed. */
    async fail(job: ExportJobRecord, error: string): Promise<void> {
      await files.remove(job.id);
      await exportJobs.end(job, { status: 'failed', error });
    },

    /** Cancels a job that has not ended, and removes the file of one that is completed. @throws ApiError 404 */
    async cancel(workspaceId: string, id: string): Promise<ExportJobRecord> {
      const job = await exportJobs.update(workspaceId, id, (current) => {
        if (isUnfinished(current)) return { status: 'cancelled', finishedAt: new Date(now()).toISOString() };
        return current.status === 'completed' ? { status: 'expired' } : {};
      });
      await files.remove(id);
      return job;
    },

    /**
     * Expires jobs whose files were kept for long enough, or that are too many for their workspace, and removes files that belong to no job
     * with files.
     *
     * @param idsWithFiles ids of the directories on disk
     * @param open every job that may have files, read after `idsWithFiles`
     */
    async sweep(idsWithFiles: readonly string[], { records, unreadable }: OpenJobs): Promise<void> {
      const expired = records.filter((job) => isExpired(job, now()));
      const completed = records.filter(({ status }) => status === 'completed');
      for (const job of new Set([...expired, ...tooManyKept(completed, KEPT_MAX)])) await expire(job);
      const known = new Set([...records.map(({ id }) => id), ...unreadable]);
      for (const id of idsWithFiles) if (!known.has(id)) await files.remove(id);
    },

    /**
     * Makes room for what a job has written, at the cost of older files.
     *
     * @param workspaceId the workspace whose job has just written
     * @throws JobFailure when that workspace uses the most, and has no complete file
     */
    async makeRoom(workspaceId: string): Promise<void> {
      const { isMade, largest } = await makeRoom({
        bytesMax,
        async stored() {
          const bytesOf = await files.bytes();
          const bytes = [...bytesOf.values()].reduce((sum, one) => sum + one, 0);
          if (bytes <= bytesMax) return { bytes, jobs: [] };
          const jobs = (await exportJobs.listOpen()).records.map((job) => ({
            job,
            workspaceId: job.workspaceId,
            bytes: bytesOf.get(job.id) ?? 0,
            finishedAt: job.status === 'completed' ? (job.finishedAt ?? '') : null,
          }));
          return { bytes, jobs };
        },
        remove: expire,
      });
      // If another workspace uses the most, its running job fails, and this one goes on.
      if (!isMade && largest === workspaceId)
        throw new JobFailure(`${NO_ROOM} ${Math.floor(bytesMax / MB)} MB together, which are used up.`);
    },
  };
}
export type JobEnds = ReturnType<typeof createJobEnds>;

/** The error for a file that has been removed. */
export function fileGone(): ApiError {
  return new ApiError('not_found', 'The export has no such file, or not any more.');
}
