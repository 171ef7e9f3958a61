import { ApiError } from '@waymark/contract';

/** The error when a store does not respond, or a wait would take too long; the caller should retry. */
export function unavailable(what: string, cause?: unknown): ApiError {
  return new ApiError('internal_server_error', 'The event could not be recorded. Retry later.', {
    retryAfterSeconds: 1,
    context: { what },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Awaits `work` and converts unexpected errors into {@link unavailable}. */
export async function orUnavailable<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (err) {
    throw err instanceof ApiError ? err : unavailable(what, err);
  }
}
