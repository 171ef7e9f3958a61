import type { DiskSpace } from '@waymark/observability';

const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;
/** With less than this, merges of ClickHouse and the log of Redis fail. */
const FULL_BYTES = 64 * MEBIBYTE;
const NEARLY_FULL_BYTES = GIBIBYTE;

/** Whether stores cannot write to the disk, or soon will not. */
export const isFull = ({ freeBytes }: DiskSpace): boolean => freeBytes < FULL_BYTES;

/** Whether the operator should make room. */
export const isNearlyFull = ({ freeBytes }: DiskSpace): boolean => freeBytes < NEARLY_FULL_BYTES;

/** Free and total space, in megabytes, or in gigabytes from one on: `12 GB free of 250 GB`. */
export function spaceText({ freeBytes, totalBytes }: DiskSpace): string {
  const text = (bytes: number) =>
    bytes < GIBIBYTE ? `${Math.floor(bytes / MEBIBYTE)} MB` : `${Math.floor(bytes / GIBIBYTE)} GB`;
  return `${text(freeBytes)} free of ${text(totalBytes)}`;
}
