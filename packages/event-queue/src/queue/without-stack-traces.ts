import type { Job } from 'bullmq';

/**
 * Keeps the stack traces of failed runs out of Redis. BullMQ stores those of all runs in the job, and jobs have no limit on attempts: in an outage
 * they would grow without a bound. Removes those that are stored when the job fails again. The reason of the last failure is kept.
 *
 * @param job a job that is about to run. Its options in Redis do not change, so this applies to jobs that any release has added
 */
export function withoutStackTraces(job: Job): void {
  job.opts.stackTraceLimit = 0;
}
