/**
 * Returns a function for the bytes of a text, which is made at the first call. Everybody may request the documentation, several times in one
 * packet: to make or encode a long text for each request would block the process for seconds, and take its memory.
 */
export function encodedOnce(make: () => string): () => Buffer {
  let bytes: Buffer | undefined;
  return () => {
    bytes ??= Buffer.from(make());
    return bytes;
  };
}
