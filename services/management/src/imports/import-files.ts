import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { ImportCounts, ReportState } from '@waymark/import';
import {
  beginAttempt,
  bytesByJob,
  DIRECTORY_MODE,
  JobFailure,
  orMissing,
  readCheckpoint,
  writeCheckpoint,
} from '@waymark/jobs';
import { z } from 'zod';

/**
 * The files of imports: `<root>/<directory>/source` or `credential`, and for each attempt `<root>/<directory>/<attempt>/` with the
 * reports. Each attempt has a directory of its own, so that a process which has lost its lease cannot write into the reports of its
 * successor. Only the user that runs the process can read the files, because rows may contain passwords of links.
 */

const SOURCE = 'source';
const CREDENTIAL = 'credential';
export const REPORTS = { rejected: 'rejected.csv', lost: 'lost.csv' } as const;
/** `rejected`: rows that were not imported; `lost`: values that were not (docs/reference/imports.md). */
export type ReportName = keyof typeof REPORTS;

export const FILE_MODE = 0o600;
/** Maximum bytes of both reports of an import. */
const REPORT_BYTES_MAX = 256 * 1024 ** 2;

const count = z.int();
const checkpointSchema = z.object({
  row: count,
  counts: z.object({ rows: count, created: count, updated: count, skipped: count, rejected: count }),
  /** Epoch milliseconds at which the rows up to `row` were done. */
  atMs: z.number(),
  bytesRead: count,
  reports: z.object({ rejected: count, lost: count, columns: z.array(z.string()).readonly() }),
  /** Bytes of each report. */
  bytes: z.object({ rejected: count, lost: count }),
});

/** The progress of an import that is stored durably; the next attempt continues from it. */
export interface Checkpoint extends z.infer<typeof checkpointSchema> {
  readonly counts: ImportCounts;
  readonly reports: ReportState;
}

/** One run of an import, by the directory of the import and the number of the run. */
export interface Attempt {
  readonly directory: string;
  readonly attempt: number;
}

/** The reports of a running attempt. */
export interface OpenReports {
  /** Adds text to a report. It is buffered; `checkpoint` writes the rest. @throws JobFailure, as `checkpoint` does, when the reports are too large */
  append(name: ReportName, text: string): Promise<void>;
  /** Stores the progress and the reports durably, so that they survive a crash of the process or of the machine. */
  checkpoint(checkpoint: Omit<Checkpoint, 'bytes'>): Promise<Checkpoint>;
  /** Closes the files, without writing what is buffered. */
  close(): Promise<void>;
}

/**
 * @param root directory of the files of all imports
 * @param reportBytesMax maximum bytes of both reports of an import; only tests set it
 */
export function createImportFiles(root: string, reportBytesMax = REPORT_BYTES_MAX) {
  const pathOf = (directory: string, ...names: readonly string[]) => join(root, directory, ...names);
  const attemptPath = ({ directory, attempt }: Attempt) => pathOf(directory, String(attempt));

  /** Undefined also for a checkpoint that this release cannot read: the import begins again, and skips the links that exist. */
  async function checkpointIn(path: string): Promise<Checkpoint | undefined> {
    return checkpointSchema.safeParse(await readCheckpoint(path)).data;
  }

  /** Copies the reports of an earlier attempt up to its checkpoint. */
  async function takeOver(before: string, own: string): Promise<Checkpoint | undefined> {
    const found = await checkpointIn(before);
    if (found === undefined) return undefined;
    for (const name of ['rejected', 'lost'] as const) {
      const path = join(own, REPORTS[name]);
      const bytes = found.bytes[name];
      if (bytes === 0) continue;
      // A copy: the process that wrote the original may still have it open.
      const original = createReadStream(join(before, REPORTS[name]), { end: bytes - 1 });
      await writeFile(path, original, { mode: FILE_MODE, flush: true });
      await truncate(path, bytes);
    }
    await writeCheckpoint(own, found, FILE_MODE);
    return found;
  }

  return {
    /** The checkpoint of an attempt; undefined before its first one. */
    readCheckpoint: (attempt: Attempt) => checkpointIn(attemptPath(attempt)),

    /** Creates the directory of a new import. @returns its name */
    async createDirectory(): Promise<string> {
      const directory = randomUUID();
      await mkdir(pathOf(directory), { recursive: true, mode: DIRECTORY_MODE });
      return directory;
    },

    sourcePath: (directory: string) => pathOf(directory, SOURCE),
    /** The uploaded file. It is opened by the first read, so that a caller which reads nothing leaves no file open. */
    async *readSource(directory: string): AsyncGenerator<Buffer> {
      yield* createReadStream(pathOf(directory, SOURCE)) as AsyncIterable<Buffer>;
    },
    hasSource: async (directory: string) => (await orMissing(stat(pathOf(directory, SOURCE)))) !== undefined,
    hasDirectory: async (directory: string) => (await orMissing(stat(pathOf(directory)))) !== undefined,

    /** @param sealed the encrypted credential */
    writeCredential: (directory: string, sealed: string) =>
      writeFile(pathOf(directory, CREDENTIAL), sealed, { mode: FILE_MODE, flush: true }),
    /** The encrypted credential; undefined when there is none. */
    readCredential: (directory: string) => orMissing(readFile(pathOf(directory, CREDENTIAL), 'utf8')),

    /** Removes the uploaded file, or the credential of the source. */
    async removeSource(directory: string): Promise<void> {
      await rm(pathOf(directory, SOURCE), { force: true });
      await rm(pathOf(directory, CREDENTIAL), { force: true });
    },

    /** The path of a report. */
    reportOf: (attempt: Attempt, name: ReportName) => join(attemptPath(attempt), REPORTS[name]),

    /**
     * Prepares a new attempt: takes over the reports of the latest attempt up to its checkpoint, then removes all earlier attempts. May be
     * repeated after an interruption.
     *
     * @returns the checkpoint to continue from; undefined = start from the beginning, or this server has no files of the import
     */
    begin: ({ directory, attempt }: Attempt): Promise<Checkpoint | undefined> =>
      beginAttempt(pathOf(directory), attempt, takeOver),

    /** Opens the reports of an attempt. @param begun the result of `begin` */
    async openReports(attempt: Attempt, begun: Checkpoint | undefined): Promise<OpenReports> {
      const own = attemptPath(attempt);
      const handles = new Map<ReportName, FileHandle>();
      const bytes = { rejected: begun?.bytes.rejected ?? 0, lost: begun?.bytes.lost ?? 0 };
      const pending = { rejected: '', lost: '' };
      const flush = async (name: ReportName) => {
        if (pending[name] === '') return;
        const text = Buffer.from(pending[name]);
        pending[name] = '';
        // Checked before each write, because a single batch may exceed the limit.
        if (bytes.rejected + bytes.lost + text.length > reportBytesMax)
          throw new JobFailure(`The reports of this import have more than ${reportBytesMax / 1024 ** 2} MB.`);
        const handle = handles.get(name) ?? (await open(join(own, REPORTS[name]), 'a', FILE_MODE));
        handles.set(name, handle);
        await handle.appendFile(text);
        bytes[name] += text.length;
      };
      return {
        async append(name, text) {
          pending[name] += text;
          if (pending[name].length > 65_536) await flush(name);
        },
        async checkpoint(position) {
          await flush('rejected');
          await flush('lost');
          for (const handle of handles.values()) await handle.datasync();
          const checkpoint = { ...position, bytes: { ...bytes } };
          await writeCheckpoint(own, checkpoint, FILE_MODE);
          return checkpoint;
        },
        async close() {
          for (const handle of handles.values()) await handle.close();
        },
      };
    },

    /** Removes all files of an import. */
    remove: (directory: string): Promise<void> => rm(pathOf(directory), { recursive: true, force: true }),

    /** Names of directories in which no file was added or removed during the last `ms`. */
    async unchangedFor(ms: number, nowMs: number): Promise<string[]> {
      const names = (await orMissing(readdir(root))) ?? [];
      const stats = await Promise.all(names.map((name) => orMissing(stat(join(root, name)))));
      return names.filter((_name, index) => (stats[index]?.mtimeMs ?? nowMs) <= nowMs - ms);
    },

    /** Sets the time that `unchangedFor` takes for the last change of a directory. */
    setChanged: (directory: string, ms: number): Promise<void> => utimes(pathOf(directory), ms / 1000, ms / 1000),

    /** Bytes of all files of each import, by its directory. */
    bytes: () => bytesByJob(root),
  };
}
export type ImportFiles = ReturnType<typeof createImportFiles>;
