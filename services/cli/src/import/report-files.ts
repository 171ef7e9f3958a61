import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  createReportLines,
  type EventCounts,
  type EventReport,
  type ImportCounts,
  type ImportReport,
  NO_LINES,
} from '@waymark/import';
import { draftOf } from '../drafts.js';
import { printStatus } from '../output.js';
import { withProgress } from '../progress.js';

const BUFFER_CHARS = 65_536;

/** Identifies the first bytes of a file by their number and hash; undefined when the file is shorter. */
async function markOf(path: string, bytes: number): Promise<string | undefined> {
  const hash = createHash('sha256');
  let read = 0;
  if (bytes > 0)
    for await (const chunk of createReadStream(path, { end: bytes - 1 })) {
      hash.update(chunk as Buffer);
      read += (chunk as Buffer).length;
    }
  return read === bytes ? markText(bytes, hash.digest('base64url')) : undefined;
}

const markText = (bytes: number, digest: string) => `${bytes} ${digest}`;

/**
 * A CSV file that is only created if it has rows. At the end it replaces, or removes, the file of an earlier run.
 *
 * @param sourcePath the file that is imported. It may be the report of an earlier run, which is only replaced after all of it was read
 */
function createReportFile(path: string, sourcePath?: string) {
  const writtenPath = draftOf(path);
  let handle: FileHandle | undefined;
  let buffer = '';
  let rows = 0;
  let isContinued = false;
  let isPublished = false;
  const hash = createHash('sha256');
  let bytes = 0;

  async function write(to: FileHandle, content: Buffer): Promise<void> {
    await to.appendFile(content);
    hash.update(content);
    bytes += content.length;
  }

  /** Creates the draft, with the content of the file that it continues. */
  async function createDraft(): Promise<FileHandle> {
    // Only the owner can read it, because rows may contain passwords of links. `x`: another user may have put a file of theirs there.
    const created = await open(writtenPath, 'wx', 0o600);
    if (isContinued) for await (const chunk of createReadStream(path)) await write(created, chunk as Buffer);
    return created;
  }

  async function flush(): Promise<void> {
    if (buffer === '') return;
    const text = buffer;
    buffer = '';
    handle ??= await createDraft();
    await write(handle, Buffer.from(text));
  }

  return {
    path,
    rows: () => rows,
    async add(line: string): Promise<void> {
      rows++;
      buffer += line;
      if (buffer.length > BUFFER_CHARS) await flush();
    },
    /**
     * Continues the file of an earlier run instead of replacing it. Call it before rows are added.
     *
     * @param earlier number of rows of that file
     * @param mark what `publish` of that run has returned; without it, any file is continued
     * @returns false when there is no such file, or that of another import
     */
    async continueFile(earlier: number, mark: string | undefined): Promise<boolean> {
      const found = await lstat(path).catch(() => undefined);
      isContinued =
        found?.isFile() === true && (mark === undefined || (await markOf(path, Number.parseInt(mark, 10))) === mark);
      if (isContinued) rows = earlier;
      return isContinued;
    },
    /**
     * Gives the file its name before the end, so that its rows stay if this process is killed.
     *
     * @returns what identifies its content; undefined when no row was added
     */
    async publish(): Promise<string | undefined> {
      await flush();
      if (handle === undefined) return undefined;
      if (!isPublished) await rename(writtenPath, path);
      isPublished = true;
      return markText(bytes, hash.copy().digest('base64url'));
    },
    /** @param hasEnded whether all of the source was read */
    async close(hasEnded: boolean): Promise<void> {
      await flush();
      await handle?.close();
      const isSource = sourcePath !== undefined && resolve(sourcePath) === resolve(path);
      if (handle === undefined) {
        if (hasEnded && !isSource && !isContinued) await rm(path, { force: true });
      } else if (!isPublished) {
        if (hasEnded || !isSource) await rename(writtenPath, path);
        else await rm(writtenPath);
      }
    },
  };
}

type ReportFile = ReturnType<typeof createReportFile>;

/** The counts of an import of links in one line. */
export function countsText({ rows, created, updated, skipped, rejected }: ImportCounts): string {
  return `${rows} rows: ${created} created, ${updated} updated, ${skipped} skipped, ${rejected} rejected`;
}

/** The counts of an import of events in one line. */
export function eventCountsText(counts: EventCounts): string {
  const { read, clicks, leads, sales, customers, repeated, tooOld, bots, rejected } = counts;
  const stored = `${clicks} clicks, ${leads} leads, ${sales} sales, ${customers} customers`;
  return `${read} events: ${stored}, ${repeated} repeated, ${tooOld} too old, ${bots} of bots, ${rejected} rejected`;
}

/** The counts of an import, and its report files that have rows. */
export interface Reported<Counts> {
  readonly counts: Counts;
  readonly reports: readonly { readonly path: string; readonly rows: number }[];
}

/** What the reports of links and of events have in common. */
interface ReportOptions<Counts> {
  readonly files: readonly ReportFile[];
  /** The counts in one line. */
  readonly text: (counts: Counts) => string;
  /** The records that were read. */
  readonly read: (counts: Counts) => number;
}

/** Runs an import while its progress is shown, and closes its report files after it. */
async function reported<Counts>(
  { files, text, read }: ReportOptions<Counts>,
  work: (progress: (counts: Counts) => void) => Promise<Counts>,
): Promise<Reported<Counts>> {
  let latest: Counts | undefined;
  const shown = (seconds: number) => ({
    text: latest === undefined ? 'reading' : `${text(latest)}, ${Math.round(read(latest) / seconds)} a second`,
  });
  const progress = (counts: Counts) => {
    latest = counts;
  };
  let counts: Counts | undefined;
  try {
    counts = await withProgress(shown, () => work(progress), { isLogged: true });
    return {
      counts,
      reports: files.filter((file) => file.rows() > 0).map(({ path, rows }) => ({ path, rows: rows() })),
    };
  } finally {
    for (const file of files) await file.close(counts !== undefined);
  }
}

/**
 * Runs an import of events with a report: a file with the rejected records, and the progress on standard error. A run that continues an
 * earlier one adds to its file.
 *
 * @param prefix as in {@link withLinkReport}
 */
export function withEventReport(
  prefix: string,
  work: (report: EventReport) => Promise<EventCounts>,
): Promise<Reported<EventCounts>> {
  const rejected = createReportFile(`${prefix}-events-rejected.csv`);
  let lines = createReportLines(false);
  return reported({ files: [rejected], text: eventCountsText, read: ({ read }) => read }, (progress) =>
    work({
      async continued(earlier, mark) {
        if (earlier.rejected === 0) return;
        if (await rejected.continueFile(earlier.rejected, mark))
          lines = createReportLines(false, { ...NO_LINES, rejected: earlier.rejected });
        else
          printStatus(
            `the report of the earlier run, with ${earlier.rejected} rejected events, is not at ${rejected.path}`,
          );
      },
      rejected: (rejection) => rejected.add(lines.rejected(rejection)),
      save: () => rejected.publish(),
      progress,
    }),
  );
}

/** The records of an import of links, and the names of its report files. */
export interface LinkReportOptions {
  /** Path and first part of the names of the files. */
  readonly prefix: string;
  /** Whether the records are rows of a table: rejected rows then keep their columns, so that the report can be imported again. */
  readonly isTable: boolean;
  /** The file that is imported, if it is one. */
  readonly sourcePath: string | undefined;
}

/**
 * Runs an import of links with a report: files with the rejected rows and the lost values, and the progress on standard error.
 */
export function withLinkReport(
  { prefix, isTable, sourcePath }: LinkReportOptions,
  work: (report: ImportReport) => Promise<ImportCounts>,
): Promise<Reported<ImportCounts>> {
  const rejected = createReportFile(`${prefix}-rejected.csv`, sourcePath);
  const lost = createReportFile(`${prefix}-lost.csv`, sourcePath);
  const lines = createReportLines(isTable);
  return reported({ files: [rejected, lost], text: countsText, read: ({ rows }) => rows }, (progress) =>
    work({
      rejected: (rejection) => rejected.add(lines.rejected(rejection)),
      lost: (loss) => lost.add(lines.lost(loss)),
      progress,
    }),
  );
}
