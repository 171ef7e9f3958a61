import { ApiError } from '@waymark/contract';
import { RowError } from './source-link.js';

/** Whether the catalog has refused a record, and would refuse it again. Errors of a store, and 429, are no refusals. */
export function isRefusedRecord(err: unknown): err is ApiError {
  return err instanceof ApiError && err.status < 500 && err.status !== 429;
}

/** Whether a record is to blame for the error: it cannot be read, or is refused. */
export function isErrorOfRecord(err: unknown): err is Error {
  return err instanceof RowError || isRefusedRecord(err);
}
