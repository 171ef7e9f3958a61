/**
 * A claim is a Redis key that makes an event idempotent. Its value is `p:<owner>` (pending) while a request holds it, and
 * `f:<value>` (final) once the event is in the queue. For events, only the transaction that adds the job sets the final value.
 */

/** TTL of a pending claim: for this long the claim of a killed request blocks others. */
export const PENDING_TTL_MS = 30_000;
/** After this time an owner must not commit any more: its claim could expire before the transaction is carried out. */
export const OWNER_GIVES_UP_MS = 10_000;

/** The state of a claim, as one owner sees it: `mine` is pending for this owner, `pending` is pending for another. */
export type ClaimState =
  | { readonly state: 'mine' }
  | { readonly state: 'pending' }
  | { readonly state: 'free' }
  | { readonly state: 'final'; readonly value: string };

/** The stored value of a claim that is pending for the owner. */
export function pendingValue(owner: string): string {
  return `p:${owner}`;
}

/** The stored value of a final claim. */
export function finalValue(value: string): string {
  return `f:${value}`;
}

/** Parses the stored value of a claim; `null` means that the key does not exist. */
export function claimState(stored: string | null, owner?: string): ClaimState {
  if (stored === null) return { state: 'free' };
  if (stored.startsWith('f:')) return { state: 'final', value: stored.slice(2) };
  return owner !== undefined && stored === pendingValue(owner) ? { state: 'mine' } : { state: 'pending' };
}
