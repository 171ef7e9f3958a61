import { constants } from 'node:fs';
import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parseResourceId } from '@waymark/contract';
import {
  beginAttempt,
  bytesByJob,
  CHECKPOINT,
  DIRECTORY_MODE,
  orMissing,
  readCheckpoint,
  sizeOf,
  syncDirectory,
  writeCheckpoint,
} from '@waymark/jobs';
import { z } from 'zod';

/** Name of a file that is not complete, and that its attempt may still write. */
const PART = 'part';
/** Name of a file that is not complete, and that its attempt has closed. */
const CLOSED = 'part.closed';

const checkpointSchema = z.object({
  rows: z.int(),
  bytes: z.int(),
  /** Id of the last row that was written, after which to continue; null for a file that cannot be continued. */
  lastId: z.string().nullable(),
  /** Names of the columns of the file. Absent in checkpoints of earlier releases, and for a file that cannot be continued. */
  columns: z.array(z.string()).optional(),
});

/** How much of a file is synced to disk. */
export type Checkpoint = z.infer<typeof checkpointSchema>;

/** A run of a job. */
export interface Attempt {
  /** Id of the job. */
  readonly id: string;
  readonly attempt: number;
}

/** A file that is being written. */
export interface PartFile {
  append(bytes: Uint8Array): Promise<void>;
  /** Syncs the file to disk, and then stores the checkpoint, so that both survive a crash of the process or of the machine. */
  checkpoint(checkpoint: Checkpoint): Promise<void>;
  /** Gives the complete file its name. */
  complete(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Waits until everything that was written to a file, by any process, is on disk. */
async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  await handle.sync().finally(() => handle.close());
}

/**
 * The files of export jobs: `<directory>/<id>/<attempt>/<name>`. Each attempt to run a job has a directory of its own, so that a process
 * that has lost its lease cannot write into the file of its successor. A file gets its name when it is complete.
 */
export function createJobFiles(directory: string) {
  const pathOf = ({ id, attempt }: Attempt) => join(directory, id, String(attempt));

  async function checkpointIn(path: string): Promise<Checkpoint | undefined> {
    return checkpointSchema.safeParse(await readCheckpoint(path)).data;
  }

  /**
   * Takes over the file of an earlier attempt, up to its checkpoint. A file that its attempt may still write is copied, because a process that
   * has lost its lease would write into that of its successor. Any other is moved, so that the file needs no room for a second one.
   *
   * @param columns names of the columns of the new attempt. Those of a file of another release may be others, or unknown
   * @returns undefined when the earlier attempt has no file that can be continued
   */
  async function takeOver(before: string, own: string, columns: readonly string[]): Promise<Checkpoint | undefined> {
    const found = await checkpointIn(before);
    if (found === undefined || found.lastId === null) return undefined;
    if (!isDeepStrictEqual(found.columns, columns)) return undefined;
    // The file has its final name if the process ended between completing the file and recording that in the job.
    const name = (await readdir(before)).find((one) => !one.startsWith(CHECKPOINT)) ?? PART;
    const source = join(before, name);
    if ((await sizeOf(source)) < found.bytes) return undefined;
    // Before the file, so that the next attempt finds both if this process is killed.
    await writeCheckpoint(own, found);
    const part = join(own, PART);
    if (name === PART) await copyFile(source, part, constants.COPYFILE_FICLONE);
    else await rename(source, part);
    await truncate(part, found.bytes);
    // Before the earlier attempt is removed: the checkpoint counts from now on, so the copy must survive a crash of the machine.
    await syncFile(part);
    await syncDirectory(own);
    return found;
  }

  return {
    readCheckpoint: (attempt: Attempt) => checkpointIn(pathOf(attempt)),

    /** Where the complete file of a job is. */
    fileOf: (attempt: Attempt, name: string) => join(pathOf(attempt), name),

    /**
     * Prepares the directory of a new attempt: takes over the file of the latest earlier attempt up to its checkpoint, and removes all earlier
     * attempts.
     *
     * @param columns names of the columns of the file; undefined if a file of this format cannot be continued
     * @returns the checkpoint at which to continue; undefined to start over
     */
    async begin({ id, attempt }: Attempt, columns: readonly string[] | undefined): Promise<Checkpoint | undefined> {
      await mkdir(join(directory, id), { recursive: true, mode: DIRECTORY_MODE });
      return beginAttempt(join(directory, id), attempt, async (before, own) =>
        columns === undefined ? undefined : takeOver(before, own, columns),
      );
    },

    /** Opens the file of an attempt that has begun. */
    async openPart(attempt: Attempt): Promise<PartFile> {
      const own = pathOf(attempt);
      const handle: FileHandle = await open(join(own, PART), 'a');
      return {
        append: (bytes) => handle.appendFile(bytes),
        async checkpoint(checkpoint) {
          await handle.sync();
          await writeCheckpoint(own, checkpoint);
        },
        async complete(name) {
          await handle.sync();
          await rename(join(own, PART), join(own, name));
          await syncDirectory(own);
        },
        async close() {
          await handle.close();
          // It has another name if it is complete, and is gone if the job was cancelled or another attempt has begun.
          await orMissing(rename(join(own, PART), join(own, CLOSED)));
        },
      };
    },

    /** Removes all files of a job. */
    remove: (id: string): Promise<void> => rm(join(directory, id), { recursive: true, force: true }),

    /** The ids of jobs that have files. */
    async ids(): Promise<string[]> {
      const names = (await orMissing(readdir(directory))) ?? [];
      return names.filter((name) => parseResourceId('exportJob', name) !== undefined);
    },

    /** Bytes of all files of each job, by its id. */
    bytes: () => bytesByJob(directory),
  };
}
export type JobFiles = ReturnType<typeof createJobFiles>;
