import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  createReportLines,
  type EventCounts,
  type EventReport,
  type ImportCounts,
  type ImportReport,
} from '@waymark/import';
import { draftOf } from '../drafts.js';
import { printMessage } from '../output.js';

const BUFFER_CHARS = 65_536;
const LINE_EVERY_MS = 10_000;

/**
 * A CSV file that is only created if it has rows. At the end it replaces, or removes, the file of an earlier run.
 *
 * @param sourcePath the file that is imported. It may be the report of an earlier run, which is only replaced after all of it was read
 */
function createTable(path: string, sourcePath?: string) {
  const writtenPath = draftOf(path);
  let handle: FileHandle | undefined;
  let buffer = '';
  let rows = 0;

  async function flush(): Promise<void> {
    if (buffer === '') return;
    const text = buffer;
    buffer = '';
    // Only the owner can read it, because rows may contain passwords of links. `x`: another user may have put a file of theirs there.
    handle ??= await open(writtenPath, 'wx', 0o600);
    await handle.appendFile(text);
  }

  return {
    path,
    rows: () => rows,
    async add(line: string): Promise<void> {
      rows++;
      buffer += line;
      if (buffer.length > BUFFER_CHARS) await flush();
    },
    /** @param hasEnded whether all of the source was read */
    async close(hasEnded: boolean): Promise<void> {
      await flush();
      await handle?.close();
      const isSource = sourcePath !== undefined && resolve(sourcePath) === resolve(path);
      if (handle === undefined) {
        if (hasEnded && !isSource) await rm(path, { force: true });
      } else if (hasEnded || !isSource) await rename(writtenPath, path);
    },
  };
}

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

/** Prints the progress of an import on standard error: on one line of a terminal, else a new line every ten seconds. */
function createProgressLine() {
  const startedMs = performance.now();
  let printedMs = startedMs;
  return (text: string, rows: number): void => {
    const isTerminal = process.stderr.isTTY === true;
    const isDue = performance.now() - printedMs >= LINE_EVERY_MS;
    if (!isTerminal && !isDue) return;
    printedMs = performance.now();
    const line = `${text}, ${Math.round(rows / ((printedMs - startedMs) / 1000))} a second`;
    if (isTerminal) process.stderr.write(`\r\u001b[K${line}`);
    else printMessage(line);
  };
}

/**
 * The report of an import of events: a file with the rejected records, and the progress on standard error.
 *
 * @param prefix as in {@link createReportFiles}
 */
export function createEventReport(prefix: string) {
  const showProgress = createProgressLine();
  const rejected = createTable(`${prefix}-events-rejected.csv`);
  const lines = createReportLines(false);
  const report: EventReport = {
    rejected: (rejection) => rejected.add(lines.rejected(rejection)),
    progress: (counts) => showProgress(eventCountsText(counts), counts.read),
  };
  return {
    report,
    /** Closes the file. @param hasEnded whether all events were read; @returns the file with the number of its rows, unless it has none */
    async close(hasEnded: boolean): Promise<readonly { readonly path: string; readonly rows: number }[]> {
      await rejected.close(hasEnded);
      return rejected.rows() > 0 ? [{ path: rejected.path, rows: rejected.rows() }] : [];
    },
  };
}

/**
 * The report of an import of links: files with the rejected rows and the lost values, and the progress on standard error.
 *
 * @param prefix path and first part of the names of the files
 * @param isTable whether the records are rows of a table: rejected rows then keep their columns, so that the report can be imported again
 * @param sourcePath the file that is imported
 */
export function createReportFiles(prefix: string, isTable: boolean, sourcePath?: string) {
  const showProgress = createProgressLine();
  const rejected = createTable(`${prefix}-rejected.csv`, sourcePath);
  const lost = createTable(`${prefix}-lost.csv`, sourcePath);
  const lines = createReportLines(isTable);

  const report: ImportReport = {
    rejected: (rejection) => rejected.add(lines.rejected(rejection)),
    lost: (loss) => lost.add(lines.lost(loss)),
    progress: (counts) => showProgress(countsText(counts), counts.rows),
  };
  return {
    report,
    /** Closes the files. @param hasEnded whether all of the source was read; @returns the files that have rows, with the number of these */
    async close(hasEnded: boolean): Promise<readonly { readonly path: string; readonly rows: number }[]> {
      if (process.stderr.isTTY === true) process.stderr.write('\n');
      await Promise.all([rejected.close(hasEnded), lost.close(hasEnded)]);
      return [rejected, lost].filter((one) => one.rows() > 0).map((one) => ({ path: one.path, rows: one.rows() }));
    },
  };
}
