export {
  bytesByJob,
  CHECKPOINT,
  orMissing,
  readCheckpoint,
  sizeOf,
  syncDirectory,
  writeCheckpoint,
} from './attempt-files.js';
export { checkFileVisible, type JobWithFile } from './file-access.js';
export { failureOf, JobFailure, JobStopped } from './job-error.js';
export { createJobRunner, type JobRecord, type JobRunner, type JobRunnerDeps } from './job-runner.js';
export type { JobSlot } from './job-slots.js';
export { makeRoom, type RoomOptions, type StoredJob } from './make-room.js';
export { createPollLoop, type PollLoop, type PollLoopOptions } from './poll-loop.js';
