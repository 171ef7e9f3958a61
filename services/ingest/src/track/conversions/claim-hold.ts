import { setTimeout as pause } from 'node:timers/promises';
import { createEventId } from '@waymark/contract';
import type { ClaimState, Claims, FinalClaim } from '@waymark/event-queue';
import { unavailable } from '../unavailable.js';

/** The claims of one request, while it works. */
export interface ClaimHold {
  /**
   * Takes claims, waiting while others work under them. After it each is `mine` or `final`.
   *
   * @throws ApiError 500 with `Retry-After` when they stay pending
   */
  take(names: readonly string[]): Promise<void>;
  isMine(name: string): boolean;
  /** What an earlier request recorded under the claim. */
  finalValue(name: string): string | undefined;
  /** The claim as the commit shall set it; only of one that is mine. */
  toFinal(name: string, value: string, ttlMs: number): FinalClaim;
}

const PENDING_WAIT_MS = 2000;
const POLL_FIRST_MS = 10;
const POLL_MAX_MS = 100;

type HeldState = Extract<ClaimState, { state: 'mine' | 'final' }>;

async function untilNonePending(claims: Claims, names: readonly string[], deadlineMs: number): Promise<void> {
  for (let delayMs = POLL_FIRST_MS; ; delayMs = Math.min(delayMs * 2, POLL_MAX_MS)) {
    if (performance.now() >= deadlineMs) throw unavailable('another request works on the same event');
    await pause(delayMs);
    const states = await claims.read(names);
    if (states.every(({ state }) => state !== 'pending')) return;
  }
}

/**
 * Works under claims: whatever the work does not commit is released when it ends, well or not. Releasing after a failed
 * commit is safe: a commit that was carried out after all has made its claims final, and those stay.
 */
export async function withClaims<T>(
  claims: Claims,
  now: () => number,
  work: (hold: ClaimHold) => Promise<T>,
): Promise<T> {
  const owner = createEventId(now());
  const held = new Map<string, HeldState>();
  const committed = new Set<string>();

  async function take(names: readonly string[]): Promise<void> {
    const deadlineMs = performance.now() + PENDING_WAIT_MS;
    for (;;) {
      const states = await claims.take(names, owner).catch((err: unknown) => {
        // The call may have been carried out, though its answer was lost.
        void claims.release(names, owner).catch(() => undefined);
        throw err;
      });
      const pending = names.filter((_name, index) => states[index]?.state === 'pending');
      const mine = names.filter((_name, index) => states[index]?.state === 'mine');
      if (pending.length === 0) {
        for (const [index, name] of names.entries()) held.set(name, states[index] as HeldState);
        return;
      }
      // Whoever waits holds nothing that others may be waiting for.
      if (mine.length > 0) await claims.release(mine, owner);
      await untilNonePending(claims, pending, deadlineMs);
    }
  }

  const hold: ClaimHold = {
    take,
    isMine: (name) => held.get(name)?.state === 'mine',
    finalValue(name) {
      const state = held.get(name);
      return state?.state === 'final' ? state.value : undefined;
    },
    toFinal(name, value, ttlMs) {
      if (!hold.isMine(name)) throw new TypeError(`the claim is not held: ${name}`);
      committed.add(name);
      return { name, owner, value, ttlMs };
    },
  };

  let isDone = false;
  try {
    const result = await work(hold);
    isDone = true;
    return result;
  } finally {
    const left = [...held].filter(([name, { state }]) => state === 'mine' && !(isDone && committed.has(name)));
    // A claim that cannot be released expires by itself.
    if (left.length > 0)
      await claims
        .release(
          left.map(([name]) => name),
          owner,
        )
        .catch(() => undefined);
  }
}
