import { ApiError } from '@waymark/contract';

/** The error (500 with `Retry-After`) when a store does not answer, or a wait would take too long. @param reason for the log */
export function notRecorded(reason: string, cause?: unknown): ApiError {
  return new ApiError('internal_server_error', 'The event could not be recorded. Retry later.', {
    retryAfterSeconds: 1,
    context: { what: reason },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Awaits `work`. @throws the ApiError of `work`; any other error becomes the one of {@link notRecorded} */
export async function orNotRecorded<T>(reason: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (err) {
    throw err instanceof ApiError ? err : notRecorded(reason, err);
  }
}
