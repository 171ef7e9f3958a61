/**
 * Ends an import because of its file, its source or its options. The message is shown to the person who started it. Readers of APIs catch it if
 * the source refuses a single record; other errors of a record are a `RowError`.
 */
export class ImportError extends Error {
  override readonly name = 'ImportError';

  /** @param status the HTTP status with which the source refused a request; undefined for other reasons */
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}
