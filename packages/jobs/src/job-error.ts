import { ApiError } from '@waymark/contract';

/** The job cannot be completed, for a reason that its owner should read. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
}

/** The job was cancelled, or another process runs it: this one has nothing more to do for it. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped';
}

const NO_SPACE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Why a job has failed for good; undefined for what may be different at the next attempt, such as a store that is away. */
export function failureOf(err: unknown): string | undefined {
  if (err instanceof JobFailure) return err.message;
  if (err instanceof ApiError && err.status < 500 && err.code !== 'rate_limit_exceeded') return err.message;
  if (err instanceof Error && 'code' in err && NO_SPACE.has(err.code)) return 'The disk of the server is full.';
  return undefined;
}
