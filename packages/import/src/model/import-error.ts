/** Ends an import because of its file, its source or its options. The message is shown to the person who started it. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}
