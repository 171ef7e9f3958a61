import { ImportError } from '../model/import-error.js';

/** So many refusals one after the other are not due to single records, but to the key, the plan of the account or the address. */
const IN_A_ROW_MAX = 20;

/** Whether the source refuses the request. A 401 refuses the credentials for all requests, so it is not due to a record. */
export function isRefusal(err: unknown): err is ImportError {
  return err instanceof ImportError && err.status !== undefined && err.status >= 400 && err.status !== 401;
}

/** Whether the source does not have what was requested, as after it was deleted. */
export function isGone(err: unknown): err is ImportError {
  return err instanceof ImportError && (err.status === 404 || err.status === 410);
}

/** Distinguishes a source that refuses single records, which may have been deleted meanwhile, from one that refuses all of them. */
export interface Refusals {
  /** Notes a request that was answered. */
  answered(): void;
  /** Notes a request that failed. @returns the error; @throws it, unless it is the refusal of a single record */
  refused(err: unknown): ImportError;
}

/** @param isOfRecord whether an error may be due to a single record */
export function createRefusals(isOfRecord: (err: unknown) => err is ImportError): Refusals {
  let inARow = 0;
  return {
    answered() {
      inARow = 0;
    },
    refused(err) {
      if (!isOfRecord(err) || ++inARow >= IN_A_ROW_MAX) throw err;
      return err;
    },
  };
}
