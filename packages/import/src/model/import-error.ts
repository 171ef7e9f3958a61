/** The import cannot go on: the file, the source or the options are wrong. The message is for the person who started it. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}
