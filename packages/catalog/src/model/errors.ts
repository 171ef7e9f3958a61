import { withTimeout } from '@waymark/cache';
import { ApiError } from '@waymark/contract';

/** What the rooms above log with; pino and Fastify loggers fit. */
export interface CatalogLogger {
  warn(context: object, message: string): void;
}

const BUSY = 'The service is busy, please try again.';

/** A store did not answer; the caller may come back. */
export function unavailable(what: string, cause?: unknown): ApiError {
  return new ApiError('internal_server_error', BUSY, {
    retryAfterSeconds: 1,
    context: { what },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** `work`, or an `unavailable` error once `limitMs` have passed; the work itself goes on. */
export function within<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  return withTimeout(work, limitMs, () => {
    throw unavailable(`${what} took longer than ${limitMs} ms`);
  });
}

/** An insert was sent and its answer never came: its rows may be there, may come, or may never come. */
export class UnknownOutcomeError extends ApiError {
  constructor(cause: unknown) {
    super('internal_server_error', BUSY, { retryAfterSeconds: 30, cause });
  }
}
