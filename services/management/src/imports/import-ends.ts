import {
  type Catalog,
  type ImportJobRecord,
  type ImportReportFile,
  isExpired,
  isUnfinished,
  type OpenImportJob,
} from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { makeRoom, tooManyKept } from '@waymark/jobs';
import type { JobEndNotifier } from '@waymark/webhooks';
import { type Checkpoint, type ImportFiles, REPORTS } from './import-files.js';
import { importObject } from './import-object.js';

/** How long the reports of an ended import are kept. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Maximum number of ended imports of a workspace that have reports. */
const KEPT_MAX = 100;
/** Longer than any upload takes: a directory without an import that is unchanged for so long was left by a process that was killed. */
const LEFT_OVER_MS = 2 * 3_600_000;
/** After this time an insert with an unknown outcome has ended. */
const INSERT_MS_MAX = 5 * 60_000;
const RETRY_SECONDS = 300;

/** Dependencies of {@link createImportEnds}. */
export interface ImportEndsDeps {
  readonly catalog: Catalog;
  readonly files: ImportFiles;
  /** Maximum bytes of the files of all imports. */
  readonly importBytesMax: number;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly jobEndNotifier: Pick<JobEndNotifier, 'ended'>;
  readonly now: () => number;
}

/** The reports that have rows. */
function reportFiles({ reports, bytes }: Checkpoint): ImportReportFile[] {
  const names = ['rejected', 'lost'] as const;
  return names
    .map((name) => ({ name: REPORTS[name], rows: reports[name], bytes: bytes[name] }))
    .filter(({ rows }) => rows > 0);
}

/** The progress of an import, as its record has it. */
export function importProgress({ counts, reports, bytesRead }: Pick<Checkpoint, 'counts' | 'reports' | 'bytesRead'>) {
  return { ...counts, lost: reports.lost, bytesRead };
}

/** Ends imports, and removes their files. */
export function createImportEnds({ catalog, files, importBytesMax, baseUrl, jobEndNotifier, now }: ImportEndsDeps) {
  const { importJobs } = catalog;

  /** Ends the attempt, unless the import was cancelled or another attempt has begun. */
  async function end(job: ImportJobRecord, fields: Partial<ImportJobRecord>): Promise<void> {
    // An attempt that fails before it has a checkpoint takes over the progress of the previous attempt.
    const checkpoint = (await files.readCheckpoint(job)) ?? (await files.begin(job));
    const progress = checkpoint && { ...importProgress(checkpoint), files: reportFiles(checkpoint) };
    const ended = await importJobs.end(job, { ...fields, ...progress }, KEPT_MS);
    if (!isUnfinished(ended)) await files.removeSource(job.directory);
  }

  /** Removes the files of an import that has ended. */
  async function expire({ workspaceId, id, directory }: OpenImportJob): Promise<void> {
    await importJobs.update(workspaceId, id, (current) =>
      isUnfinished(current) ? {} : { files: [], expiresAt: new Date(now()).toISOString() },
    );
    await files.remove(directory);
  }

  return {
    /** Ends an import whose source was read to its end. */
    complete: (job: ImportJobRecord): Promise<void> => end(job, { status: 'completed' }),

    /** Ends an import that cannot continue. The links that it has created stay. */
    fail: (job: ImportJobRecord, error: string): Promise<void> => end(job, { status: 'failed', error }),

    /** `DELETE /imports/{id}`: cancels an import that has not ended, and removes the files of one that has. @throws ApiError 404 */
    async cancel(workspaceId: string, id: string): Promise<ImportJobRecord> {
      const before = await importJobs.require(workspaceId, id);
      const checkpoint = await files.readCheckpoint(before);
      const job = await importJobs.update(workspaceId, id, (current) =>
        isUnfinished(current)
          ? {
              status: 'cancelled',
              ...(checkpoint && importProgress(checkpoint)),
              finishedAt: new Date(now()).toISOString(),
            }
          : { files: [] },
      );
      await files.remove(job.directory);
      return job;
    },

    /** Sends the webhook event for the end of an import. @throws when a store is unavailable; then it must be called again */
    async report(job: ImportJobRecord): Promise<void> {
      const { workspaceId, id, finishedAt, status, directory } = job;
      // Repeated, because a process that was killed right after the end has not removed it.
      await files.removeSource(directory);
      const event = status === 'failed' ? 'import.failed' : 'import.completed';
      const data = await importObject(files, baseUrl, job);
      await jobEndNotifier.ended({ workspaceId, event, key: id, endedMs: Date.parse(finishedAt ?? ''), data });
      await importJobs.reported(job);
    },

    /** Makes `sweep` remove the directory in five minutes, unless the record of its import turns out to be stored. */
    mayBeUnused: (directory: string): Promise<void> =>
      files.setChanged(directory, now() - LEFT_OVER_MS + INSERT_MS_MAX),

    /**
     * Removes the files of imports that are expired, or too many for their workspace, and directories that belong to no import. Of the latter none
     * is removed while an import cannot be read, whose directory is not known.
     *
     * @returns the open imports
     */
    async sweep(): Promise<readonly OpenImportJob[]> {
      const unchanged = await files.unchangedFor(LEFT_OVER_MS, now());
      const { records: open, unreadable } = await importJobs.listOpen();
      const kept = open.filter((job) => !isUnfinished(job) && job.files.length > 0);
      const expired = kept.filter((job) => isExpired(job, now()));
      for (const job of new Set([...expired, ...tooManyKept(kept, KEPT_MAX)])) await expire(job);
      if (unreadable.length > 0) return open;
      const used = new Set(open.map(({ directory }) => directory));
      for (const directory of unchanged) if (!used.has(directory)) await files.remove(directory);
      return open;
    },

    /**
     * Makes room for uploads and for an import that begins, by removing the reports of the oldest ended imports if necessary.
     *
     * @param bytes that the uploads may have together
     * @throws ApiError 429 when there is not enough room
     */
    async makeRoom(bytes: number): Promise<void> {
      const { isMade } = await makeRoom<OpenImportJob>({
        bytesMax: importBytesMax,
        async stored() {
          const bytesOf = await files.bytes();
          const sum = [...bytesOf.values()].reduce((total, one) => total + one, bytes);
          if (sum <= importBytesMax) return { bytes: sum, jobs: [] };
          // Files of imports that have not ended are needed.
          const ended = (await importJobs.listOpen()).records.filter((job) => !isUnfinished(job));
          const jobs = ended.map((job) => ({
            job,
            workspaceId: job.workspaceId,
            bytes: bytesOf.get(job.directory) ?? 0,
            finishedAt: job.finishedAt ?? '',
          }));
          return { bytes: sum, jobs };
        },
        remove: expire,
      });
      if (isMade) return;
      const message = 'The server has no room for another import at the moment. Please try again later.';
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
    },
  };
}
export type ImportEnds = ReturnType<typeof createImportEnds>;
