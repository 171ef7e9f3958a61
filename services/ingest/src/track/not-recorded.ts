import { ApiError } from '@waymark/contract';

/** The error (500 with `Retry-After`) when a store does not answer, or a wait would take too long. @param what for the log */
export function unavailable(what: string, cause?: unknown): ApiError {
  return new ApiError('internal_server_error', 'The event could not be recorded. Retry later.', {
    retryAfterSeconds: 1,
    context: { what },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Awaits `work`. @throws the ApiError of `work`; any other error becomes the one of {@link unavailable} */
export async function orUnavailable<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (err) {
    throw err instanceof ApiError ? err : unavailable(what, err);
  }
}
