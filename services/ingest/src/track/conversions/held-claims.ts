import { setTimeout as delay } from 'node:timers/promises';
import { createEventId } from '@waymark/contract';
import type { ClaimState, Claims, FinalClaim } from '@waymark/event-queue';
import { notRecorded } from '../not-recorded.js';

/** The claims held by one request while it is processed. */
export interface HeldClaims {
  /**
   * Takes claims, waiting while other requests hold them. Afterwards each is `mine` or `final`.
   *
   * @throws ApiError 500 with `Retry-After` when they stay pending
   */
  take(names: readonly string[]): Promise<void>;
  isMine(name: string): boolean;
  /** The value that an earlier request stored under the claim. */
  finalValue(name: string): string | undefined;
  /** The final form of a held claim, to be set by the commit. */
  toFinal(name: string, value: string, ttlMs: number): FinalClaim;
}

/** Limit on the wait for claims. An import holds claims while it stores a batch, usually for less than this. */
const PENDING_WAIT_MS = 5000;
const POLL_FIRST_MS = 10;
const POLL_MAX_MS = 100;

type HeldState = Extract<ClaimState, { state: 'mine' | 'final' }>;

async function waitUntilNonePending(claims: Claims, names: readonly string[], deadlineMs: number): Promise<void> {
  for (let delayMs = POLL_FIRST_MS; ; delayMs = Math.min(delayMs * 2, POLL_MAX_MS)) {
    if (performance.now() >= deadlineMs) throw notRecorded('another request works on the same event');
    await delay(delayMs);
    const states = await claims.read(names);
    if (states.every(({ state }) => state !== 'pending')) return;
  }
}

/**
 * Runs `work` with claims and releases those that it has not committed, whether it succeeds or throws. Releasing after a failed commit
 * is safe: if the commit took effect after all, its claims are final and stay.
 */
export async function withClaims<T>(
  claims: Claims,
  now: () => number,
  work: (hold: HeldClaims) => Promise<T>,
): Promise<T> {
  const owner = createEventId(now());
  const held = new Map<string, HeldState>();
  const committed = new Set<string>();

  async function take(names: readonly string[]): Promise<void> {
    const deadlineMs = performance.now() + PENDING_WAIT_MS;
    for (;;) {
      const states = await claims.take(names, owner);
      const pending = names.filter((_name, index) => states[index]?.state === 'pending');
      const mine = names.filter((_name, index) => states[index]?.state === 'mine');
      if (pending.length === 0) {
        for (const [index, name] of names.entries()) held.set(name, states[index] as HeldState);
        return;
      }
      // Release while waiting, so that requests cannot deadlock.
      if (mine.length > 0) await claims.release(mine, owner);
      await waitUntilNonePending(claims, pending, deadlineMs);
    }
  }

  const hold: HeldClaims = {
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
    // Claims that cannot be released now are released when Redis answers again.
    if (left.length > 0)
      await claims
        .release(
          left.map(([name]) => name),
          owner,
        )
        .catch(() => undefined);
  }
}
