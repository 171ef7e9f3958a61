import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalog, ExportJobRecord } from '@waymark/catalog';
import { createEncoder, fileName } from '@waymark/export';
import { JobStopped } from '@waymark/jobs';
import { jobCaller } from './job-access.js';
import type { Checkpoint, JobFiles } from './job-files.js';
import type { OpenJob } from './job-source.js';

export interface RunJobDeps {
  readonly catalog: Catalog;
  readonly files: JobFiles;
  readonly openJob: OpenJob;
  /** Makes room for what a workspace has written. @throws JobFailure when it gets none */
  readonly makeRoom: (workspaceId: string) => Promise<void>;
  readonly now: () => number;
}

/** Rows between two checkpoints: a kill costs the work of a tenth of a second. */
const CHECKPOINT_ROWS = 1000;
/** Bytes between two checks of the size of all files, which reads the whole directory. */
const ROOM_BYTES = 16 * 1024 ** 2;

/** The complete file of a job. */
export interface WrittenFile {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Runs a job, and continues after the last checkpoint of an earlier attempt.
 *
 * @throws JobStopped when it was cancelled; the reason of `signal`; what reading and writing throw
 */
export async function runJob(deps: RunJobDeps, job: ExportJobRecord, signal: AbortSignal): Promise<WrittenFile> {
  const { catalog, files, openJob, makeRoom, now } = deps;
  const { workspaceId, id, attempt, format, escapeFormulas: escapesFormulas } = job;
  const createdMs = Date.parse(job.createdAt);

  async function checkMayContinue(): Promise<void> {
    const current = await catalog.exportJobs.get(workspaceId, id);
    if (current?.status !== 'processing' || current.attempt !== attempt) throw new JobStopped();
    await jobCaller(catalog, job, now());
  }

  const opened = await openJob(await jobCaller(catalog, job, now()), job, createdMs);
  const mayContinue = opened.type === 'list' && format !== 'parquet';
  const begun = await files.begin(job, mayContinue);
  const progress: Checkpoint = begun ?? { rows: 0, bytes: 0, lastId: null };
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
    let rowsNoted = progress.rows;
    let bytesCounted = progress.bytes;
    const afterSlice = async () => {
      if (progress.rows - rowsNoted >= CHECKPOINT_ROWS) {
        await checkpoint();
        rowsNoted = progress.rows;
      }
      if (progress.bytes - bytesCounted >= ROOM_BYTES) {
        await makeRoom(workspaceId);
        bytesCounted = progress.bytes;
      }
      await nextTurn();
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
      const encoder = createEncoder({ format, columns, escapesFormulas, isContinuation: begun !== undefined });
      for await (const { items, lastId } of await sourceFrom(begun?.lastId ?? undefined, signal)) {
        await append(encoder.encode(items));
        progress.rows += items.length;
        if (mayContinue) progress.lastId = lastId;
        await afterSlice();
      }
      await append(encoder.end());
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
