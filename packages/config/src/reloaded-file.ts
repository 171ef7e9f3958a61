import { statSync } from 'node:fs';

/** Options of {@link openReloadedFile}. */
export interface ReloadOptions {
  /** Called at each check that cannot read the file; the previous content stays in use. */
  readonly onReloadError?: ((err: unknown) => void) | undefined;
  readonly checkIntervalMs?: number | undefined;
}

/** The content of a file that operators replace while the process runs. */
export interface ReloadedFile<Content> {
  /** The content that was read last. */
  current(): Content;
  /** Stops checking the file. */
  close(): void;
}

const CHECK_INTERVAL_MS = 60_000;

/** A stamp that changes whenever the file changes or is replaced: size, modification time and inode. */
function stampOf(file: string): string {
  const { size, mtimeMs, ino } = statSync(file);
  return `${size} ${mtimeMs} ${ino}`;
}

/**
 * Reads a file, and reads it again when it changes, which is checked every minute. A file that cannot be read is tried again at the next
 * check.
 *
 * @param read reads and parses the file
 * @throws at the start what `read` throws, or an error of the file system, such as for a missing file
 */
export function openReloadedFile<Content>(
  file: string,
  read: (file: string) => Content,
  { onReloadError, checkIntervalMs = CHECK_INTERVAL_MS }: ReloadOptions = {},
): ReloadedFile<Content> {
  // The stamp is taken before the content is read, so that a change in between is detected at the next check.
  let stamp = stampOf(file);
  let content = read(file);
  const timer = setInterval(() => {
    try {
      const current = stampOf(file);
      if (current === stamp) return;
      content = read(file);
      stamp = current;
    } catch (err) {
      onReloadError?.(err);
    }
  }, checkIntervalMs);
  timer.unref();
  return { current: () => content, close: () => clearInterval(timer) };
}
