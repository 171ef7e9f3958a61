import { type Catalog, type ExportJobRecord, isUnfinished } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { ExportNotifier } from '@waymark/webhooks';
import { JobFailure } from './job-error.js';
import type { JobFiles } from './job-files.js';
import { jobObject } from './job-object.js';
import type { WrittenFile } from './run-job.js';

/** How long a file can be downloaded. */
const KEPT_MS = 7 * 24 * 3_600_000;
const MB = 1024 ** 2;

export interface JobEndsDeps {
  readonly catalog: Catalog;
  readonly files: JobFiles;
  /** Most bytes of all files. */
  readonly bytesMax: number;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly notifier: Pick<ExportNotifier, 'ended'>;
  readonly now: () => number;
}

const NO_ROOM = 'The files of exports may have';

function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

/** The workspace whose files have the most bytes. */
function largestOwner(jobs: readonly ExportJobRecord[], bytes: ReadonlyMap<string, number>): string | undefined {
  const used = new Map<string, number>();
  for (const { workspaceId, id } of jobs) used.set(workspaceId, (used.get(workspaceId) ?? 0) + (bytes.get(id) ?? 0));
  return [...used].sort(([, one], [, other]) => other - one)[0]?.[0];
}

const endOf = ({ finishedAt }: ExportJobRecord) => finishedAt ?? '';

/** The ways in which jobs and their files end. */
export function createJobEnds({ catalog, files, bytesMax, baseUrl, notifier, now }: JobEndsDeps) {
  const { exportJobs } = catalog;

  /** Ends the attempt, unless the job was cancelled or another attempt has begun. */
  async function end(job: ExportJobRecord, fields: Partial<ExportJobRecord>, keptMs?: number): Promise<void> {
    const endedMs = now();
    const times = {
      finishedAt: new Date(endedMs).toISOString(),
      expiresAt: keptMs === undefined ? null : new Date(endedMs + keptMs).toISOString(),
    };
    await exportJobs.update(job.workspaceId, job.id, (current) =>
      isUnfinished(current) && current.attempt === job.attempt ? { ...fields, ...times, isUnreported: true } : {},
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

    /** Sends the end of a job to the webhooks of its workspace. @throws when a store is unavailable; then it must be called again */
    async report(job: ExportJobRecord): Promise<void> {
      const { workspaceId, id, finishedAt, status } = job;
      const event = status === 'failed' ? 'export.failed' : 'export.completed';
      const data = { job: await jobObject(files, baseUrl, job), schedule: null };
      await notifier.ended({ workspaceId, event, key: id, endedMs: Date.parse(finishedAt ?? ''), data });
      await exportJobs.update(workspaceId, id, () => ({ isUnreported: false }));
    },

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
     * Removes files until all together are within the limit: each time the oldest complete one of the workspace whose files have the
     * most bytes, so that no workspace loses files to one that uses more.
     *
     * @param workspaceId the workspace whose job has just written
     * @throws JobFailure when that workspace uses the most, and has no complete file
     */
    async makeRoom(workspaceId: string): Promise<void> {
      for (;;) {
        const bytes = await files.bytes();
        if (sumOf(bytes.values()) <= bytesMax) return;
        const jobs = await exportJobs.open();
        const owner = largestOwner(jobs, bytes);
        const complete = jobs.filter((job) => job.workspaceId === owner && job.status === 'completed');
        const [oldest] = complete.sort((one, other) => (endOf(one) < endOf(other) ? -1 : 1));
        if (oldest !== undefined) await expire(oldest);
        // What uses the most is being written by another job, which fails by itself.
        else if (owner !== workspaceId) return;
        else throw new JobFailure(`${NO_ROOM} ${Math.floor(bytesMax / MB)} MB together, which are used up.`);
      }
    },
  };
}
export type JobEnds = ReturnType<typeof createJobEnds>;

/** The error for a file that has been removed. */
export function fileGone(): ApiError {
  return new ApiError('not_found', 'The export has no such file, or not any more.');
}
