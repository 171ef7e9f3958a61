import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The size of a file system. */
export interface DiskSpace {
  /** Bytes that users other than root may still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** The file system that a directory is on, or will be on once it exists; undefined if it cannot be read. */
export async function diskSpace(directory: string): Promise<DiskSpace | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (err) {
    const parent = dirname(directory);
    const isMissing = (err as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && parent !== directory ? diskSpace(parent) : undefined;
  }
}

/** What will be written to a directory. */
export interface DiskNeed {
  /** The setting that determines the size or the place, such as `SPOOL_MAX_MB`. */
  readonly setting: string;
  readonly directory: string;
  /** How many bytes will be written at most. */
  readonly bytes: number;
  /** What happens when the disk is full, as the end of a sentence. */
  readonly risk: string;
}

const megabytes = (bytes: number) => Math.floor(bytes / 1024 ** 2);

/** A warning for the operator at the start; undefined if there is enough space, or the space cannot be read. */
export async function diskShortage({ setting, directory, bytes, risk }: DiskNeed): Promise<string | undefined> {
  const space = await diskSpace(directory);
  if (space === undefined || space.freeBytes >= bytes) return undefined;
  return `${setting}: ${directory} has ${megabytes(space.freeBytes)} MB free of the ${megabytes(bytes)} MB that it may need; when it is full, ${risk}`;
}

/** With less than this, a store of one machine may be unable to write what it has to. */
const FULL_BYTES = 16 * 1024 ** 2;

/** What to do about the full disk of a directory; undefined if there is space, or the space cannot be read. */
export async function fullDisk(directory: string): Promise<string | undefined> {
  const space = await diskSpace(directory);
  if (space === undefined || space.freeBytes >= FULL_BYTES) return undefined;
  return `the disk of ${directory} is full, ${megabytes(space.freeBytes)} MB are free: make room, then everything goes on by itself`;
}
