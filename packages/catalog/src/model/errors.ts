import { withTimeout } from '@waymark/cache';
import { ApiError } from '@waymark/contract';

/** The part of a logger that the catalog uses; pino and Fastify loggers fit. */
export interface CatalogLogger {
  warn(context: object, message: string): void;
}

const BUSY = 'The service is busy, please try again.';

/**
 * The error for a store that does not answer: 500 with `Retry-After`.
 *
 * @param reason for the log; not sent to the caller
 */
export function unavailable(reason: string, cause?: unknown): ApiError {
  return new ApiError('internal_server_error', BUSY, {
    retryAfterSeconds: 1,
    context: { what: reason },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The outcome of `work`, or an {@link unavailable} error once `limitMs` have passed; `work` is not cancelled. */
export function unavailableAfter<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  return withTimeout(work, limitMs, () => {
    throw unavailable(`${what} took longer than ${limitMs} ms`);
  });
}

/** Another request has held a lock for too long. Nothing was written. */
export class LockedError extends ApiError {
  /** @param what for the log, without texts of users */
  constructor(what: string) {
    super('internal_server_error', BUSY, { retryAfterSeconds: 1, context: { what: `lock on ${what}` } });
  }
}

/** The error for a request that names a domain of another workspace (docs/reference/errors.md). */
export function foreignDomain(slug: string): ApiError {
  return new ApiError('forbidden', `The domain "${slug}" does not belong to this workspace.`);
}
