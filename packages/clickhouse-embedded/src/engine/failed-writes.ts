/**
 * Counts the writes to files that have failed since the process started, such as on a full disk.
 *
 * The engine ignores such a write, unlike a ClickHouse server: an insert succeeds, and a merge replaces its parts, although what they
 * wrote is empty or cut off. After a `kill -9` it finds such a part when it opens, sets it aside, and goes on with the parts that a merge
 * had replaced, which stay on disk for some minutes. So the process has to be killed before it acknowledges an insert.
 */
export const FAILED_WRITES =
  "SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed' AND value > 0 SETTINGS enable_analyzer = 0";

/** Whether the result of {@link FAILED_WRITES} has any. */
export function hasFailedWrites(result: Buffer): boolean {
  return result.length > 0;
}
