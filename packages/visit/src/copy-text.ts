/**
 * Copies a slice of a header. In V8 a slice is a view that keeps the whole header in memory, so that a cache with a few thousand slices of
 * long headers would exhaust the memory.
 */
export function copyText(slice: string): string {
  return Buffer.from(slice, 'latin1').toString('latin1');
}
