import { mkdtempSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_FILES = '/dev/shm';
/** Far more than the tests need at any moment; containers often have only 64 MiB there. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/** In memory where there is enough of it: stores that write each event to disk wait for it otherwise. */
function parentDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FILES);
    return Math.min(bavail * bsize, freemem()) >= FREE_BYTES_MIN ? MEMORY_FILES : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** A new directory for what a store or a service of a test keeps. Who makes it removes it. */
export function temporaryDirectory(prefix: string): string {
  return mkdtempSync(join(parentDirectory(), prefix));
}
