import { randomBytes } from 'node:crypto';
import { QUEUE_PREFIX } from '../queue/keys.js';

/** Whether a batch was carried out, and without which rows, is remembered that long for the replay of the spool. */
export const CLICK_MARKER_MS = 2 * 3_600_000;

const MARKER_PREFIX = `${QUEUE_PREFIX}:recorded:`;
const HOUR_MS = 3_600_000;

/** Where it is noted that a batch of clicks was carried out, or replayed from the spool, whichever came first: one bit. */
export interface ClickMarker {
  /** One a process and hour. */
  readonly group: string;
  readonly bit: number;
}

/** Deals out the markers of this process's batches. */
export function createClickMarkers(now: () => number): () => ClickMarker {
  const producer = randomBytes(6).toString('base64url');
  let hour = -1;
  let bit = -1;
  return () => {
    // A clock that is set back must not deal out a bit that is set already.
    const current = Math.max(hour, Math.floor(now() / HOUR_MS));
    bit = current === hour ? bit + 1 : 0;
    hour = current;
    return { group: `${producer}${hour.toString(36)}`, bit };
  };
}

export function markerKey({ group }: ClickMarker): string {
  return MARKER_PREFIX + group;
}
