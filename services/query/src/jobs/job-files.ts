import { constants } from 'node:fs';
import {
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
} from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parseResourceId } from '@waymark/contract';
import { z } from 'zod';

/**
 * The files of jobs: `<directory>/<id>/<attempt>/<name>`. Each attempt to run a job has a directory of its own, so that a process which
 * was believed dead cannot write into the file of its successor. A file has its name only when it is complete.
 */

const PART = 'part';
const CHECKPOINT = 'checkpoint.json';

const checkpointSchema = z.object({
  rows: z.int(),
  bytes: z.int(),
  /** After which row to continue; null where a file cannot be continued. */
  lastId: z.string().nullable(),
});

/** How much of a file is on disk for certain. */
export type Checkpoint = z.infer<typeof checkpointSchema>;

/** The run of a job that has a directory. */
export interface Attempt {
  readonly id: string;
  readonly attempt: number;
}

const isMissing = (err: unknown) => (err as NodeJS.ErrnoException).code === 'ENOENT';

async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}

async function sizeOf(path: string): Promise<number> {
  return (await orMissing(stat(path)))?.size ?? 0;
}

/** A file that is being written. */
export interface PartFile {
  append(bytes: Uint8Array): Promise<void>;
  /** Notes how far the file has come. After it returns, this survives the end of the process and of the machine. */
  checkpoint(checkpoint: Checkpoint): Promise<void>;
  /** Gives the complete file its name. */
  complete(name: string): Promise<void>;
  close(): Promise<void>;
}

export function createJobFiles(directory: string) {
  const pathOf = ({ id, attempt }: Attempt) => join(directory, id, String(attempt));

  async function readCheckpoint(attempt: Attempt): Promise<Checkpoint | undefined> {
    const text = await orMissing(readFile(join(pathOf(attempt), CHECKPOINT), 'utf8'));
    return text === undefined ? undefined : checkpointSchema.safeParse(JSON.parse(text)).data;
  }

  async function attemptsOf(id: string): Promise<number[]> {
    return ((await orMissing(readdir(join(directory, id)))) ?? []).map(Number).sort((a, b) => b - a);
  }

  return {
    readCheckpoint,

    /** Where the complete file of a job is. */
    fileOf: (attempt: Attempt, name: string) => join(pathOf(attempt), name),

    /**
     * Prepares the directory of a new attempt. Copies what an earlier one has written up to its checkpoint, and removes the earlier
     * ones.
     *
     * @param mayContinue whether the format can be continued
     * @returns where to continue; undefined = at the start
     */
    async begin(attempt: Attempt, mayContinue: boolean): Promise<Checkpoint | undefined> {
      const earlier = (await attemptsOf(attempt.id)).filter((number) => number !== attempt.attempt);
      const own = pathOf(attempt);
      await rm(own, { recursive: true, force: true });
      await mkdir(own, { recursive: true });
      const [latest] = earlier;
      const before = latest === undefined ? undefined : { id: attempt.id, attempt: latest };
      const found = before === undefined || !mayContinue ? undefined : await readCheckpoint(before);
      let continued: Checkpoint | undefined;
      if (before !== undefined && found !== undefined && found.lastId !== null) {
        // The part has its final name if the process ended just before it reported the end.
        const name = (await readdir(pathOf(before))).find((one) => !one.startsWith(CHECKPOINT)) ?? PART;
        const source = join(pathOf(before), name);
        if ((await sizeOf(source)) >= found.bytes) {
          await copyFile(source, join(own, PART), constants.COPYFILE_FICLONE);
          await truncate(join(own, PART), found.bytes);
          continued = found;
        }
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
          const next = join(own, `${CHECKPOINT}.next`);
          const noted = await open(next, 'w');
          try {
            await noted.writeFile(JSON.stringify(checkpoint));
            await noted.sync();
          } finally {
            await noted.close();
          }
          await rename(next, join(own, CHECKPOINT));
          await syncDirectory(own);
        },
        async complete(name) {
          await handle.sync();
          await rename(join(own, PART), join(own, name));
          await syncDirectory(own);
        },
        close: () => handle.close(),
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
    async bytes(): Promise<Map<string, number>> {
      const entries = (await orMissing(readdir(directory, { recursive: true, withFileTypes: true }))) ?? [];
      const bytes = new Map<string, number>();
      const add = async (path: string) => {
        const [id = ''] = relative(directory, path).split(sep);
        const size = await sizeOf(path);
        bytes.set(id, (bytes.get(id) ?? 0) + size);
      };
      const files = entries.filter((entry) => entry.isFile());
      await Promise.all(files.map(({ parentPath, name }) => add(join(parentPath, name))));
      return bytes;
    },
  };
}
export type JobFiles = ReturnType<typeof createJobFiles>;
