import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImportCounts, ReportState } from '@waymark/import';
import { bytesByJob, orMissing, readCheckpoint, writeCheckpoint } from '@waymark/jobs';
import { z } from 'zod';

/**
 * The files of imports: `<root>/<directory>/source` or `credential`, and for each attempt `<root>/<directory>/<attempt>/` with the
 * reports. Each attempt has a directory of its own, so that a process which has lost its lease cannot write into the reports of its
 * successor. Only the owner of the process can read them: rows may hold passwords of links.
 */

const SOURCE = 'source';
const CREDENTIAL = 'credential';
export const REPORTS = { rejected: 'rejected.csv', lost: 'lost.csv' } as const;
export type ReportName = keyof typeof REPORTS;

const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;

const count = z.int();
const checkpointSchema = z.object({
  row: count,
  counts: z.object({ rows: count, created: count, updated: count, skipped: count, rejected: count }),
  /** When the rows had their ends, ms. */
  atMs: z.number(),
  bytesRead: count,
  reports: z.object({ rejected: count, lost: count, columns: z.array(z.string()).readonly() }),
  /** Size of each report. */
  bytes: z.object({ rejected: count, lost: count }),
});

/** How far an import has come for certain. */
export interface Checkpoint extends z.infer<typeof checkpointSchema> {
  readonly counts: ImportCounts;
  readonly reports: ReportState;
}

/** The run of an import that has a directory. */
export interface Attempt {
  readonly directory: string;
  readonly attempt: number;
}

/** The reports of an attempt that runs. */
export interface OpenReports {
  append(name: ReportName, text: string): Promise<void>;
  /** Stores how far the import has come, durably: it survives a crash of the process or of the machine. */
  checkpoint(checkpoint: Omit<Checkpoint, 'bytes'>): Promise<Checkpoint>;
  close(): Promise<void>;
}

export function createImportFiles(root: string) {
  const pathOf = (directory: string, ...names: readonly string[]) => join(root, directory, ...names);
  const attemptPath = ({ directory, attempt }: Attempt) => pathOf(directory, String(attempt));

  async function checkpointOf(attempt: Attempt): Promise<Checkpoint | undefined> {
    const found = await readCheckpoint(attemptPath(attempt));
    return found === undefined ? undefined : checkpointSchema.parse(found);
  }

  return {
    readCheckpoint: checkpointOf,

    /** Makes the directory of a new import. @returns its name */
    async createDirectory(): Promise<string> {
      const directory = randomUUID();
      await mkdir(pathOf(directory), { recursive: true, mode: DIRECTORY_MODE });
      return directory;
    },

    sourcePath: (directory: string) => pathOf(directory, SOURCE),
    /** The file that was sent. It is opened by the first read, so that a caller which reads nothing leaves no file open. */
    async *readSource(directory: string): AsyncGenerator<Buffer> {
      yield* createReadStream(pathOf(directory, SOURCE)) as AsyncIterable<Buffer>;
    },
    hasSource: async (directory: string) => (await orMissing(stat(pathOf(directory, SOURCE)))) !== undefined,
    hasDirectory: async (directory: string) => (await orMissing(stat(pathOf(directory)))) !== undefined,

    /** @param sealed the encrypted credential */
    writeCredential: (directory: string, sealed: string) =>
      writeFile(pathOf(directory, CREDENTIAL), sealed, { mode: FILE_MODE, flush: true }),
    readCredential: (directory: string) => orMissing(readFile(pathOf(directory, CREDENTIAL), 'utf8')),

    /** Removes what an import read from: the file that was sent, or the credential. */
    async removeSource(directory: string): Promise<void> {
      await rm(pathOf(directory, SOURCE), { force: true });
      await rm(pathOf(directory, CREDENTIAL), { force: true });
    },

    /** Where a report of an attempt is. */
    reportOf: (attempt: Attempt, name: ReportName) => join(attemptPath(attempt), REPORTS[name]),

    /**
     * Prepares a new attempt: takes over the reports of the latest one up to its checkpoint, and removes the earlier ones. Repeats that if it
     * was interrupted.
     *
     * @returns where to continue; undefined = at the start, or there are no files of the import here
     */
    async begin(attempt: Attempt): Promise<Checkpoint | undefined> {
      const { directory } = attempt;
      const names = await orMissing(readdir(pathOf(directory)));
      if (names === undefined) return undefined;
      const earlier = names.map(Number).filter((number) => number > 0 && number !== attempt.attempt);
      const own = attemptPath(attempt);
      await rm(own, { recursive: true, force: true });
      await mkdir(own, { mode: DIRECTORY_MODE });
      let continued: Checkpoint | undefined;
      for (const number of earlier.sort((one, other) => other - one)) {
        const before = { directory, attempt: number };
        continued = await checkpointOf(before);
        if (continued === undefined) continue;
        for (const name of ['rejected', 'lost'] as const) {
          const path = join(own, REPORTS[name]);
          const bytes = continued.bytes[name];
          if (bytes === 0) continue;
          // A copy: the process that wrote the original may still have it open.
          await writeFile(path, createReadStream(join(attemptPath(before), REPORTS[name]), { end: bytes - 1 }), {
            mode: FILE_MODE,
            flush: true,
          });
          await truncate(path, bytes);
        }
        await writeCheckpoint(own, continued, FILE_MODE);
        break;
      }
      for (const number of earlier) await rm(pathOf(directory, String(number)), { recursive: true, force: true });
      return continued;
    },

    /** Opens the reports of an attempt that has begun. */
    async openReports(attempt: Attempt, begun: Checkpoint | undefined): Promise<OpenReports> {
      const own = attemptPath(attempt);
      const handles = new Map<ReportName, FileHandle>();
      const bytes = { rejected: begun?.bytes.rejected ?? 0, lost: begun?.bytes.lost ?? 0 };
      const pending = { rejected: '', lost: '' };
      const flush = async (name: ReportName) => {
        if (pending[name] === '') return;
        const text = Buffer.from(pending[name]);
        pending[name] = '';
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

    /** Names of directories that nothing was added to or removed from for that long. */
    async unchangedFor(ms: number, nowMs: number): Promise<string[]> {
      const names = (await orMissing(readdir(root))) ?? [];
      const stats = await Promise.all(names.map((name) => orMissing(stat(join(root, name)))));
      return names.filter((_name, index) => (stats[index]?.mtimeMs ?? nowMs) <= nowMs - ms);
    },

    /** Bytes of all files of each import, by its directory. */
    bytes: () => bytesByJob(root),
  };
}
export type ImportFiles = ReturnType<typeof createImportFiles>;
