import { CLICK_CLAIM_MS } from './click-markers.js';

/**
 * Claims of clicks that this process has spooled. Until the spool is replayed Redis does not know them, so that without this
 * every reload of a page would count while Redis is away.
 */
export interface SpooledClaims {
  /** The click that was counted for the claim within the hour. */
  get(claim: string): string | undefined;
  add(claim: string, clickId: string): void;
}

const CLAIMS_MAX = 100_000;

/** Remembers the last hundred thousand. */
export function createSpooledClaims(now: () => number): SpooledClaims {
  const claims = new Map<string, { readonly clickId: string; readonly until: number }>();
  return {
    get(claim) {
      const entry = claims.get(claim);
      if (entry === undefined || entry.until > now()) return entry?.clickId;
      claims.delete(claim);
      return undefined;
    },
    add(claim, clickId) {
      const oldest = claims.size >= CLAIMS_MAX ? claims.keys().next().value : undefined;
      if (oldest !== undefined) claims.delete(oldest);
      claims.set(claim, { clickId, until: now() + CLICK_CLAIM_MS });
    },
  };
}
