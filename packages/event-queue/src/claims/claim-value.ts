/**
 * What a claim's key holds: `p:<owner>` while the owner works on it, `f:<value>` once the event is in the queue. The final
 * value is only ever set by the transaction that adds the job.
 */

/** An owner that dies leaves its claim for that long. */
export const PENDING_TTL_MS = 30_000;
/** An owner that has not committed by then must not: its claim might expire before its transaction is carried out. */
export const OWNER_GIVES_UP_MS = 10_000;

/** How a claim stands for the one who asks. */
export type ClaimState =
  | { readonly state: 'mine' }
  | { readonly state: 'pending' }
  | { readonly state: 'free' }
  | { readonly state: 'final'; readonly value: string };

export function pendingValue(owner: string): string {
  return `p:${owner}`;
}

export function finalValue(value: string): string {
  return `f:${value}`;
}

/** Reads a claim's stored value; `null` is a key that does not exist. */
export function claimState(stored: string | null, owner?: string): ClaimState {
  if (stored === null) return { state: 'free' };
  if (stored.startsWith('f:')) return { state: 'final', value: stored.slice(2) };
  return owner !== undefined && stored === pendingValue(owner) ? { state: 'mine' } : { state: 'pending' };
}
