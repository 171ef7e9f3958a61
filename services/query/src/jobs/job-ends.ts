import { type Catalog, type ExportJobRecord, isUnfinished } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { JobFailure } from './job-error.js';
import type { JobFiles } from './job-files.js';
import type { WrittenFile } from './run-job.js';

/** How long a file can be downloaded. */
const KEPT_MS = 7 * 24 * 3_600_000;
const MB = 1024 ** 2;

export interface JobEndsDeps {
  readonly catalog: Catalog;
  readonly files: JobFiles;
  /** Most bytes of all files. */
  readonly bytesMax: number;
  readonly now: () => number;
}

/** The ways in which jobs and their files end. */
export function createJobEnds({ catalog, files, bytesMax, now }: JobEndsDeps) {
  const { exportJobs } = catalog;

  /** Ends the attempt, unless the job was cancelled or another attempt has begun. */
  async function end(job: ExportJobRecord, fields: Partial<ExportJobRecord>, keptMs?: number): Promise<void> {
    const endedMs = now();
    const times = {
      finishedAt: new Date(endedMs).toISOString(),
      expiresAt: keptMs === undefined ? null : new Date(endedMs + keptMs).toISOString(),
    };
    await exportJobs.update(job.workspaceId, job.id, (current) =>
      isUnfinished(current) && current.attempt === job.attempt ? { ...fields, ...times } : {},
    );
  }

  async function expire({ workspaceId, id }: ExportJobRecord): Promise<void> {
    await exportJobs.update(workspaceId, id, ({ status }) => (status === 'completed' ? { status: 'expired' } : {}));
    await files.remove(id);
  }

  return {
    /** Ends a job whose file is complete. */
    completed: (job: ExportJobRecord, { name: file, rows, bytes }: WrittenFile): Promise<void> =>
      end(job, { status: 'completed', file, rows, bytes }, KEPT_MS),

    /** Ends a job that cannot be completed. */
    async failed(job: ExportJobRecord, error: string): Promise<void> {
      await files.remove(job.id);
      await end(job, { status: 'failed', error });
    },

    /** Cancels a job that has not ended, and removes the file of one that is completed. @throws ApiError 404 */
    async cancelled(workspaceId: string, id: string): Promise<ExportJobRecord> {
      const job = await exportJobs.update(workspaceId, id, (current) => {
        if (isUnfinished(current)) return { status: 'cancelled', finishedAt: new Date(now()).toISOString() };
        return current.status === 'completed' ? { status: 'expired' } : {};
      });
      await files.remove(id);
      return job;
    },

    /** Removes files whose time is over or whose job has none. @param open every job that may have files, read after `idsWithFiles` */
    async sweep(idsWithFiles: readonly string[], open: readonly ExportJobRecord[]): Promise<void> {
      for (const job of open) {
        if (job.expiresAt !== null && Date.parse(job.expiresAt) <= now()) await expire(job);
      }
      const known = new Set(open.map(({ id }) => id));
      for (const id of idsWithFiles) if (!known.has(id)) await files.remove(id);
    },

    /**
     * Removes the oldest complete files until all files together are within the limit.
     *
     * @throws JobFailure when that is not enough
     */
    async makeRoom(): Promise<void> {
      if ((await files.bytes()) <= bytesMax) return;
      const completed = (await exportJobs.open()).filter(({ status }) => status === 'completed');
      const ends = ({ finishedAt }: ExportJobRecord) => finishedAt ?? '';
      for (const job of completed.sort((a, b) => (ends(a) < ends(b) ? -1 : 1))) {
        await expire(job);
        if ((await files.bytes()) <= bytesMax) return;
      }
      throw new JobFailure(
        `The files of exports may have ${Math.floor(bytesMax / MB)} MB together, which are used up.`,
      );
    },
  };
}
export type JobEnds = ReturnType<typeof createJobEnds>;

/** The error for a file that has been removed. */
export function fileGone(): ApiError {
  return new ApiError('not_found', 'The export has no such file, or not any more.');
}
