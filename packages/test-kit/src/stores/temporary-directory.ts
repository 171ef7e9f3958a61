import { mkdtempSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_FILES = '/dev/shm';
/** Far more than tests need at a time; in containers the file system in memory is often only 64 MiB. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/** A file system in memory if it has enough room: there, stores that sync each event do not wait for a disk. */
function parentDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FILES);
    return Math.min(bavail * bsize, freemem()) >= FREE_BYTES_MIN ? MEMORY_FILES : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Creates a directory for the data of a store or a service. The caller removes it. */
export function temporaryDirectory(prefix: string): string {
  return mkdtempSync(join(parentDirectory(), prefix));
}
