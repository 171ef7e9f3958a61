import { uuidv7 } from 'uuidv7';

const UUID_LENGTH = 36;

/**
 * Creates a job's id: a UUIDv7, whose time shows the age of a job that the spool delivers late. The id is an idempotency
 * key: a job added again under the same id has the same rows, and the writer writes them once (see writer/manifest.ts).
 */
export function createJobId(): string {
  return uuidv7();
}

/** When the job was created, epoch milliseconds; undefined if the id is not a UUID. */
export function jobIdTime(jobId: string): number | undefined {
  const time = Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16);
  return jobId.length >= UUID_LENGTH && jobId[8] === '-' && Number.isFinite(time) ? time : undefined;
}

const VERSION_POSITION = 14;

/**
 * Id of the job that restores the rows which the transaction of another job discarded. It is derived from that job's id, with
 * the same time: a UUID of version 8, whose content is free.
 */
export function restoredRowsJobId(jobId: string): string {
  return `${jobId.slice(0, VERSION_POSITION)}8${jobId.slice(VERSION_POSITION + 1)}`;
}

/**
 * Id of a dead letter and of the job that replays it. It is derived from the job and the position of the row in it, so that parking and
 * replaying are idempotent. A row of a replay that is refused again keeps its id.
 *
 * @param row index of the row in the job
 */
export function rowJobId(jobId: string, row: number): string {
  return isRowJobId(jobId) ? jobId : `${jobId}-${row}`;
}

/** Whether the job is the replay of a dead letter. */
export function isRowJobId(jobId: string): boolean {
  return jobId.length > UUID_LENGTH;
}
