import { eventIdTime } from '@waymark/contract';
import { createGenerations } from './generations.js';

/** One recorded click an hour per visitor and link: a claim lasts that long from the click on. */
export const CLICK_CLAIM_MS = 3_600_000;

/**
 * Clicks that this process knows to be counted. A visitor who comes again needs no Redis, and a click that was spooled is known
 * although Redis will hear of it only when the spool is replayed.
 */
export interface RecentClicks {
  /** The click that was counted for the claim within the hour. */
  get(claim: string): string | undefined;
  add(claim: string, clickId: string): void;
}

const CLICKS_PER_GENERATION = 50_000;

/** Remembers the last fifty to a hundred thousand, about 15 MB. */
export function createRecentClicks(now: () => number): RecentClicks {
  const { get, add } = createGenerations<string>({ entriesMax: CLICKS_PER_GENERATION });
  return {
    get(claim) {
      const clickId = get(claim);
      if (clickId === undefined) return undefined;
      return (eventIdTime(clickId) ?? 0) + CLICK_CLAIM_MS > now() ? clickId : undefined;
    },
    add,
  };
}
