import type { Catalog, ImportJobRecord, ImportReportFile } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { makeRoom } from '@waymark/jobs';
import type { JobNotifier } from '@waymark/webhooks';
import { type Checkpoint, type ImportFiles, REPORTS } from './import-files.js';
import { importObject } from './import-object.js';

/** How long reports can be downloaded. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** An upload takes less; what is older and belongs to no import is left over from a process that was killed. */
const LEFT_OVER_MS = 2 * 3_600_000;
const RETRY_SECONDS = 300;

export interface ImportEndsDeps {
  readonly catalog: Catalog;
  readonly files: ImportFiles;
  /** Most bytes of all files. */
  readonly importBytesMax: number;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly jobNotifier: Pick<JobNotifier, 'ended'>;
  readonly now: () => number;
}

function reportFiles({ reports, bytes }: Checkpoint): ImportReportFile[] {
  const names = ['rejected', 'lost'] as const;
  return names
    .map((name) => ({ name: REPORTS[name], rows: reports[name], bytes: bytes[name] }))
    .filter(({ rows }) => rows > 0);
}

/** The ways in which imports and their files end. */
export function createImportEnds({ catalog, files, importBytesMax, baseUrl, jobNotifier, now }: ImportEndsDeps) {
  const { importJobs } = catalog;

  /** Ends the attempt, unless the import was cancelled or another attempt has begun. */
  async function end(job: ImportJobRecord, fields: Partial<ImportJobRecord>): Promise<void> {
    // An attempt that ends before it has begun has the progress of the one before.
    const checkpoint = (await files.readCheckpoint(job)) ?? (await files.begin(job));
    const endedMs = now();
    const progress = checkpoint && {
      ...{ ...checkpoint.counts, lost: checkpoint.reports.lost, bytesRead: checkpoint.bytesRead },
      files: reportFiles(checkpoint),
    };
    const times = {
      finishedAt: new Date(endedMs).toISOString(),
      expiresAt: new Date(endedMs + KEPT_MS).toISOString(),
    };
    const ended = await importJobs.update(job.workspaceId, job.id, (current) =>
      importJobs.isUnfinished(current) && current.attempt === job.attempt
        ? { ...fields, ...progress, ...times, isUnreported: true }
        : {},
    );
    if (!importJobs.isUnfinished(ended)) await files.removeSource(job.directory);
  }

  async function expire({ workspaceId, id, directory }: ImportJobRecord): Promise<void> {
    await importJobs.update(workspaceId, id, (current) =>
      importJobs.isUnfinished(current) ? {} : { files: [], expiresAt: new Date(now()).toISOString() },
    );
    await files.remove(directory);
  }

  return {
    /** Ends an import that has read its source to the end. */
    completed: (job: ImportJobRecord): Promise<void> => end(job, { status: 'completed' }),

    /** Ends an import that cannot go on. What it has made stays. */
    failed: (job: ImportJobRecord, error: string): Promise<void> => end(job, { status: 'failed', error }),

    /** Cancels an import that has not ended, and removes the files of one that has. @throws ApiError 404 */
    async cancelled(workspaceId: string, id: string): Promise<ImportJobRecord> {
      const before = await importJobs.require(workspaceId, id);
      const checkpoint = await files.readCheckpoint(before);
      const progress = checkpoint && { ...checkpoint.counts, lost: checkpoint.reports.lost };
      const job = await importJobs.update(workspaceId, id, (current) =>
        importJobs.isUnfinished(current)
          ? { status: 'cancelled', ...progress, finishedAt: new Date(now()).toISOString() }
          : { files: [] },
      );
      await files.remove(job.directory);
      return job;
    },

    /** Sends the end of an import to the webhooks of its workspace. @throws when a store is unavailable; then it must be called again */
    async report(job: ImportJobRecord): Promise<void> {
      const { workspaceId, id, finishedAt, status, directory } = job;
      // Also when the process was killed right after the end.
      await files.removeSource(directory);
      const event = status === 'failed' ? 'import.failed' : 'import.completed';
      const data = await importObject(files, baseUrl, job);
      await jobNotifier.ended({ workspaceId, event, key: id, endedMs: Date.parse(finishedAt ?? ''), data });
      await importJobs.update(workspaceId, id, () => ({ isUnreported: false }));
    },

    /** The imports that are open, without files whose time is over or whose import is none. */
    async open(): Promise<readonly ImportJobRecord[]> {
      const unchanged = await files.unchangedFor(LEFT_OVER_MS, now());
      const open = await importJobs.open();
      for (const job of open) {
        const isOver = job.expiresAt !== null && Date.parse(job.expiresAt) <= now();
        if (isOver && job.files.length > 0) await expire(job);
      }
      const used = new Set(open.map(({ directory }) => directory));
      for (const directory of unchanged) if (!used.has(directory)) await files.remove(directory);
      return open;
    },

    /**
     * Makes room for the file of an import, at the cost of older reports.
     *
     * @param bytes that it may have
     * @throws ApiError 429 when there is none
     */
    async makeRoom(bytes: number): Promise<void> {
      const { isMade } = await makeRoom<ImportJobRecord>({
        bytesMax: importBytesMax,
        async stored() {
          const bytesOf = await files.bytes();
          const sum = [...bytesOf.values()].reduce((total, one) => total + one, bytes);
          if (sum <= importBytesMax) return { bytes: sum, jobs: [] };
          // Files of imports that have not ended are needed.
          const ended = (await importJobs.open()).filter((job) => !importJobs.isUnfinished(job));
          const jobs = ended.map((job) => ({
            ...{ job, workspaceId: job.workspaceId, bytes: bytesOf.get(job.directory) ?? 0 },
            finishedAt: job.finishedAt ?? '',
          }));
          return { bytes: sum, jobs };
        },
        remove: expire,
      });
      if (isMade) return;
      const message = 'The server has no room for another file of an import at the moment. Please try again later.';
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
    },
  };
}
export type ImportEnds = ReturnType<typeof createImportEnds>;
