import { randomBytes } from 'node:crypto';
import { QUEUE_PREFIX } from '../queue/keys.js';

/** TTL of a batch's marker and of the list of its discarded rows, both of which the replay of the spool reads. */
export const BATCH_MARKER_MS = 2 * 3_600_000;

const MARKER_PREFIX = `${QUEUE_PREFIX}:recorded:`;
const HOUR_MS = 3_600_000;

/** One bit in Redis that is set when a batch of clicks is recorded by its transaction, or replayed from the spool. */
export interface BatchMarker {
  /** Names the Redis key, one per process and hour. */
  readonly group: string;
  /** Position of the bit in that key. */
  readonly bit: number;
}

/** Returns a function that allocates a new marker for each batch of this process. */
export function createMarkerSequence(now: () => number): () => BatchMarker {
  const producer = randomBytes(6).toString('base64url');
  let hour = -1;
  let bit = -1;
  return () => {
    // If the clock is set back, no bit may be allocated twice.
    const current = Math.max(hour, Math.floor(now() / HOUR_MS));
    bit = current === hour ? bit + 1 : 0;
    hour = current;
    return { group: `${producer}${hour.toString(36)}`, bit };
  };
}

export function markerKey({ group }: BatchMarker): string {
  return MARKER_PREFIX + group;
}
