import { isRefusedForNow } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { isStoreUnavailable } from '@waymark/http-kit';

/** The job cannot be completed, for a reason that its owner should read. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
}

/** The job was cancelled, or another process runs it: this process ends its attempt without recording anything. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped';
}

/** Whether the error is due to a store that is away or overloaded, or to a limit on reads, and so not to the job. */
export function isInterruption(err: unknown): boolean {
  if (err instanceof ApiError) return err.retryAfterSeconds !== undefined;
  return isStoreUnavailable(err) || isRefusedForNow(err);
}

const NO_SPACE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Why a job has failed permanently, as a text for its owner; undefined for temporary errors, such as those of a store that is away. */
export function failureOf(err: unknown): string | undefined {
  if (err instanceof JobFailure) return err.message;
  if (err instanceof ApiError && err.status < 500 && err.code !== 'rate_limit_exceeded') return err.message;
  if (err instanceof Error && 'code' in err && NO_SPACE.has(err.code)) return 'The disk of the server is full.';
  return undefined;
}
