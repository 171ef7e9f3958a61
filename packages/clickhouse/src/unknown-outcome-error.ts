import { ApiError } from '@waymark/contract';

/** An insert was sent but not answered: its rows may be stored, may be stored later, or may never be. */
export class UnknownOutcomeError extends ApiError {
  constructor(cause: unknown) {
    super('internal_server_error', 'The service is busy, please try again.', { retryAfterSeconds: 30, cause });
  }
}
