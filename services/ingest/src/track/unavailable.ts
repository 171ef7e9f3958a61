import { ApiError } from '@waymark/contract';

/** A store did not answer, or something has to be waited for longer than a caller should; the caller may come back. */
export function unavailable(what: string, cause?: unknown): ApiError {
  return new ApiError('internal_server_error', 'The event could not be recorded. Retry later.', {
    retryAfterSeconds: 1,
    context: { what },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** `work`, its failure turned into an answer that tells the caller to come back. */
export async function orUnavailable<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (err) {
    throw err instanceof ApiError ? err : unavailable(what, err);
  }
}
