export {
  beginAttempt,
  bytesByJob,
  CHECKPOINT,
  DIRECTORY_MODE,
  orMissing,
  readCheckpoint,
  sizeOf,
  syncDirectory,
  writeCheckpoint,
} from './attempt-files.js';
export { callerOfJob, checkFileVisible, checkSeesJob } from './job-access.js';
export { isInterruption, JobFailure, JobStopped } from './job-error.js';
export { createJobRunner, type JobRecord, type JobRunnerDeps } from './job-runner.js';
export type { JobSlot } from './job-slots.js';
export { tooManyKept } from './kept-jobs.js';
export { makeRoom } from './make-room.js';
export { createTurns } from './turns.js';
export { createWorkLoop } from './work-loop.js';
