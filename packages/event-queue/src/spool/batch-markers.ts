import { randomBytes } from 'node:crypto';
import { QUEUE_PREFIX } from '../queue/keys.js';

/** TTL of a batch's marker, which the replay of the spool sets, and of the list of its discarded rows, which the replay reads. */
export const BATCH_MARKER_MS = 2 * 3_600_000;

const MARKER_PREFIX = `${QUEUE_PREFIX}:recorded:`;
const HOUR_MS = 3_600_000;

/** A bit in Redis. It is set when the clicks of a batch are recorded, by the transaction of the batch or by the replay of the spool. */
export interface BatchMarker {
  /** Last part of the name of the Redis key. Each process has one key per hour. */
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

/** The Redis key that contains the bit. */
export function markerKey({ group }: BatchMarker): string {
  return MARKER_PREFIX + group;
}
