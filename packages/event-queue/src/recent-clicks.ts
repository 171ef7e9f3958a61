import { eventIdTime } from '@waymark/contract';

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

const CLICKS_MAX = 100_000;

/** Remembers the last hundred thousand: about 15 MB. */
export function createRecentClicks(now: () => number): RecentClicks {
  const clicks = new Map<string, string>();
  return {
    get(claim) {
      const clickId = clicks.get(claim);
      if (clickId === undefined) return undefined;
      if ((eventIdTime(clickId) ?? 0) + CLICK_CLAIM_MS > now()) return clickId;
      clicks.delete(claim);
      return undefined;
    },
    add(claim, clickId) {
      const oldest = clicks.size >= CLICKS_MAX ? clicks.keys().next().value : undefined;
      if (oldest !== undefined) clicks.delete(oldest);
      clicks.set(claim, clickId);
    },
  };
}
