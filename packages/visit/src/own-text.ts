/**
 * A copy of a header's part. V8 makes a slice a view that keeps the whole header alive: cached, a few thousand long ones
 * would fill the memory.
 */
export function ownText(slice: string): string {
  return Buffer.from(slice, 'latin1').toString('latin1');
}
