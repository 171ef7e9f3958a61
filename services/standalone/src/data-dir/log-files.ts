import { mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { copyFile, readdir, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';

const LOG_BYTES_MAX = 16 * 1024 * 1024;
const CHECK_MS = 60_000;
const LOG_NAME = /\.log$/;

const logDirectory = (dataDir: string) => join(dataDir, 'logs');

/** Opens the log of a child for appending. A large log is first renamed to `.old`. */
export function openLog(dataDir: string, name: string): { readonly file: string; readonly fd: number } {
  const directory = logDirectory(dataDir);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${name}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) renameSync(file, `${file}.old`);
  return { file, fd: openSync(file, 'a', 0o600) };
}

/**
 * Copies each large log to `.old` and empties it. It is not renamed, because its process has it open for appending, and would go on writing to
 * the renamed file. Lines that are written between the copy and the truncation are lost. If the disk has no room for the copy, all lines are
 * lost.
 */
export async function shortenLogs(dataDir: string, bytesMax = LOG_BYTES_MAX): Promise<void> {
  const directory = logDirectory(dataDir);
  for (const name of await readdir(directory)) {
    const file = join(directory, name);
    if (!LOG_NAME.test(name) || (await stat(file)).size <= bytesMax) continue;
    const copied = copyFile(file, `${file}.old`);
    await copied.catch(() => rm(`${file}.old`, { force: true }));
    await truncate(file);
  }
}

/** Shortens the logs every minute. The timer does not keep the process running. Reports a failure, and tries again a minute later. */
export function limitLogs(dataDir: string, report: (err: unknown) => void): void {
  setInterval(() => void shortenLogs(dataDir).catch(report), CHECK_MS).unref();
}
