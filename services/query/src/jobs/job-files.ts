import { constants } from 'node:fs';
import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { parseResourceId } from '@waymark/contract';
import {
  bytesByJob,
  CHECKPOINT,
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
/** Only this user may enter: a DATA_DIR that others may list does not show them the files. */
const DIRECTORY_MODE = 0o700;

const checkpointSchema = z.object({
  rows: z.int(),
  bytes: z.int(),
  /** Id of the last row that was written, after which to continue; null for a file that cannot be continued. */
  lastId: z.string().nullable(),
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

/**
 * The files of export jobs: `<directory>/<id>/<attempt>/<name>`. Each attempt to run a job has a directory of its own, so that a process
 * that has lost its lease cannot write into the file of its successor. A file gets its name when it is complete.
 */
export function createJobFiles(directory: string) {
  const pathOf = ({ id, attempt }: Attempt) => join(directory, id, String(attempt));

  async function checkpointOf(attempt: Attempt): Promise<Checkpoint | undefined> {
    return checkpointSchema.safeParse(await readCheckpoint(pathOf(attempt))).data;
  }

  async function attemptsOf(id: string): Promise<number[]> {
    return ((await orMissing(readdir(join(directory, id)))) ?? []).map(Number).sort((a, b) => b - a);
  }

  /**
   * Takes over the file of an earlier attempt, up to its checkpoint. A file that its attempt may still write is copied, because a process that
   * has lost its lease would write into that of its successor. Any other is moved, so that the file needs no room for a second one.
   *
   * @param own directory of the new attempt
   * @returns undefined when the earlier attempt has no file that can be continued
   */
  async function takeOver(before: Attempt, own: string): Promise<Checkpoint | undefined> {
    const found = await checkpointOf(before);
    if (found === undefined || found.lastId === null) return undefined;
    // The file has its final name if the process ended between completing the file and recording that in the job.
    const name = (await readdir(pathOf(before))).find((one) => !one.startsWith(CHECKPOINT)) ?? PART;
    const source = join(pathOf(before), name);
    if ((await sizeOf(source)) < found.bytes) return undefined;
    // Before the file, so that the next attempt finds both if this process is killed.
    await writeCheckpoint(own, found);
    const part = join(own, PART);
    if (name === PART) await copyFile(source, part, constants.COPYFILE_FICLONE);
    else await rename(source, part);
    await truncate(part, found.bytes);
    return found;
  }

  return {
    readCheckpoint: checkpointOf,

    /** Where the complete file of a job is. */
    fileOf: (attempt: Attempt, name: string) => join(pathOf(attempt), name),

    /**
     * Prepares the directory of a new attempt: takes over the file of the latest earlier attempt up to its checkpoint, and removes all earlier
     * attempts.
     *
     * @param isResumable whether a file of this format can be continued
     * @returns the checkpoint at which to continue; undefined to start over
     */
    async begin(attempt: Attempt, isResumable: boolean): Promise<Checkpoint | undefined> {
      const earlier = (await attemptsOf(attempt.id)).filter((number) => number !== attempt.attempt);
      const own = pathOf(attempt);
      await rm(own, { recursive: true, force: true });
      await mkdir(own, { recursive: true, mode: DIRECTORY_MODE });
      let continued: Checkpoint | undefined;
      for (const number of isResumable ? earlier : []) {
        continued = await takeOver({ id: attempt.id, attempt: number }, own);
        if (continued !== undefined) break;
      }
      for (const number of earlier) {
        await rm(join(directory, attempt.id, String(number)), { recursive: true, force: true });
      }
      return continued;
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
