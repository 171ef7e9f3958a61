import { setImmediate as immediate } from 'node:timers/promises';
import type { Catalog, ExportJobRecord } from '@waymark/catalog';
import { createEncoder, fileName } from '@waymark/export';
import { JobStopped } from '@waymark/jobs';
import { jobCaller } from './export-access.js';
import type { Checkpoint, JobFiles } from './job-files.js';
import type { OpenJob } from './job-source.js';

export interface RunJobDeps {
  readonly catalog: Catalog;
  readonly files: JobFiles;
  readonly openJob: OpenJob;
  /** Removes older files if all together exceed their limit. @throws JobFailure when the files of this workspace cannot be kept */
  readonly makeRoom: (workspaceId: string) => Promise<void>;
  readonly now: () => number;
}

/** Rows between two checkpoints. After a kill, at most these are written again: the work of a tenth of a second. */
const CHECKPOINT_ROWS = 1000;
/** Bytes that a job writes between two checks of the size of all files. A check reads the whole directory, so it is not made more often. */
const ROOM_BYTES = 16 * 1024 ** 2;

/** The complete file of a job. */
export interface WrittenFile {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes the file of a job, from the checkpoint of an earlier attempt on if there is one.
 *
 * @param onProgress called when a checkpoint is written from which the next attempt would continue
 * @throws JobStopped when the job was cancelled or another attempt has begun; ApiError when its key may not read the resource any more; the
 * reason of `signal`; what reading and writing throw
 */
export async function runJob(
  deps: RunJobDeps,
  job: ExportJobRecord,
  signal: AbortSignal,
  onProgress: () => void,
): Promise<WrittenFile> {
  const { catalog, files, openJob, makeRoom, now } = deps;
  const { workspaceId, id, attempt, format, escapeFormulas: escapesFormulas } = job;
  const createdMs = Date.parse(job.createdAt);

  /** Checks that this attempt is still the current one, and that the key of the job may still read the resource. */
  async function checkMayContinue(): Promise<void> {
    const current = await catalog.exportJobs.get(workspaceId, id);
    if (current?.status !== 'processing' || current.attempt !== attempt) throw new JobStopped();
    await jobCaller(catalog, job, now());
  }

  const opened = await openJob(await jobCaller(catalog, job, now()), job, createdMs);
  const isResumable = opened.type === 'list' && format !== 'parquet';
  const names = opened.type === 'list' && isResumable ? opened.columns.map(({ name }) => name) : undefined;
  // Opening the job may have taken longer than the lease, so that another attempt has begun.
  signal.throwIfAborted();
  await checkMayContinue();
  const continued = await files.begin(job, names);
  const progress: Checkpoint = { rows: 0, bytes: 0, lastId: null, ...continued, ...(names && { columns: names }) };
  const part = await files.openPart(job);
  try {
    const append = async (bytes: Uint8Array) => {
      await part.append(bytes);
      progress.bytes += bytes.length;
    };
    const checkpoint = async () => {
      signal.throwIfAborted();
      await checkMayContinue();
      await part.checkpoint(progress);
    };
    let rowsAtCheckpoint = progress.rows;
    let bytesCounted = progress.bytes;
    const afterSlice = async () => {
      if (progress.rows - rowsAtCheckpoint >= CHECKPOINT_ROWS) {
        await checkpoint();
        rowsAtCheckpoint = progress.rows;
        if (isResumable) onProgress();
      }
      if (progress.bytes - bytesCounted >= ROOM_BYTES) {
        await makeRoom(workspaceId);
        bytesCounted = progress.bytes;
      }
      await immediate();
    };
    if (opened.type === 'archive') {
      const countRows = (count: number) => {
        progress.rows += count;
      };
      for await (const bytes of opened.bytes(countRows, signal)) {
        await append(bytes);
        await afterSlice();
      }
    } else {
      const { columns, sourceFrom } = opened;
      const encoder = createEncoder({ format, columns, escapesFormulas, isContinuation: continued !== undefined });
      for await (const { items, lastId } of await sourceFrom(continued?.lastId ?? undefined, signal)) {
        await append(encoder.encode(items));
        progress.rows += items.length;
        if (isResumable) progress.lastId = lastId;
        await afterSlice();
      }
      for (const bytes of encoder.end()) {
        await append(bytes);
        await afterSlice();
      }
    }
    await checkpoint();
    await makeRoom(workspaceId);
    const name = fileName(opened.what, createdMs, opened.type === 'archive' ? 'zip' : format);
    await part.complete(name);
    return { name, rows: progress.rows, bytes: progress.bytes };
  } finally {
    await part.close();
  }
}
