import { uuidv7 } from 'uuidv7';

const UUID_LENGTH = 36;

/**
 * A job's id: UUIDv7, so that it tells when the job was made however late it arrives. The id belongs to one content for ever:
 * whatever is added again under it is the same rows, and is dropped by the manifest.
 */
export function createJobId(): string {
  return uuidv7();
}

/** When the job was made, epoch milliseconds; undefined for an id that is none of ours. */
export function jobIdTime(jobId: string): number | undefined {
  const time = Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16);
  return jobId.length >= UUID_LENGTH && jobId[8] === '-' && Number.isFinite(time) ? time : undefined;
}

const VERSION_POSITION = 14;

/**
 * Id of the job that carries what was struck out of another one. Fixed, and of the same time: UUIDv8 leaves all but its
 * version to us.
 */
export function struckJobId(jobId: string): string {
  return `${jobId.slice(0, VERSION_POSITION)}8${jobId.slice(VERSION_POSITION + 1)}`;
}

/** Id of a dead letter, and of the job that replays it: fixed, so that parking or replaying a row twice is doing it once. */
export function rowJobId(jobId: string, row: number): string {
  return isRowJobId(jobId) ? jobId : `${jobId}-${row}`;
}

/** Whether the job replays one dead-lettered row. */
export function isRowJobId(jobId: string): boolean {
  return jobId.length > UUID_LENGTH;
}
