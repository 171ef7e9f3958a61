import { eventIdTime } from '@waymark/contract';
import { CLICK_CLAIM_MS } from '../claims/claim-names.js';
import { createGenerations } from './generations.js';

/**
 * Cache of the clicks that this process has recorded, or that Redis named as recorded. It saves a call to Redis for visitors who return
 * within the hour. It also makes a spooled click count at once, although its claim is set only when the spool is replayed.
 */
export interface RecentClicks {
  /** The id of the click recorded under the claim within the hour; undefined if this process does not have it. */
  get(claim: string): string | undefined;
  add(claim: string, clickId: string): void;
}

const CLICKS_PER_GENERATION = 50_000;

/** Holds the last 50,000 to 100,000 clicks, about 15 MB. */
export function createRecentClicks(now: () => number): RecentClicks {
  const { get, add } = createGenerations<string>({ entriesMax: CLICKS_PER_GENERATION });
  return {
    get(claim) {
      const clickId = get(claim);
      if (clickId === undefined) return undefined;
      const [timeMs, nowMs] = [eventIdTime(clickId) ?? 0, now()];
      // A click with a time in the future was recorded before the clock was set back.
      return timeMs <= nowMs && nowMs < timeMs + CLICK_CLAIM_MS ? clickId : undefined;
    },
    add,
  };
}
