import { randomBytes } from 'node:crypto';
import { QUEUE_PREFIX } from './queue-keys.js';

/** One recorded click an hour per visitor and link: a claim lasts that long from the click on. */
export const CLICK_CLAIM_MS = 3_600_000;
/** A marker outlives every claim that refers to it. */
export const CLICK_MARKER_MS = 2 * CLICK_CLAIM_MS + 10 * 60_000;

/** What the keys of all markers start with. */
export const CLICK_MARKER_PREFIX = `${QUEUE_PREFIX}:recorded:`;

/**
 * Where it is noted that a batch of clicks is in the queue: one bit. Its claims, written before, name that bit, so that making
 * a whole batch final costs one write instead of one a click, in time, memory and AOF.
 */
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
    const current = Math.max(hour, Math.floor(now() / CLICK_CLAIM_MS));
    bit = current === hour ? bit + 1 : 0;
    hour = current;
    return { group: `${producer}${hour.toString(36)}`, bit };
  };
}

export function markerKey({ group }: ClickMarker): string {
  return CLICK_MARKER_PREFIX + group;
}

/** What the claim of a click holds. */
export function clickClaimValue({ group, bit }: ClickMarker, clickId: string): string {
  return `${group}.${bit.toString(36)}:${clickId}`;
}
