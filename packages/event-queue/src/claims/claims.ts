import { ApiError, hasElapsed } from '@waymark/contract';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { hadNoEffect, isOutOfMemory } from '../redis/connection.js';
import { withinMs } from '../redis/deadline.js';
import { RELEASE_CLAIMS, TAKE_CLAIMS } from './claim-scripts.js';
import { type ClaimState, claimState, OWNER_GIVES_UP_MS, PENDING_TTL_MS, pendingValue } from './claim-value.js';
import { createLateReleases } from './late-releases.js';

/** Claims of `/track`: at most one request at a time records the event of an invoice, a lead or a customer. */
export interface Claims {
  /**
   * Takes several claims in one call. Each is then `mine`, or `pending` for another owner, or `final` with the recorded value. Claims that are
   * neither committed nor released expire.
   *
   * @param owner id of the request that takes them
   * @throws ApiError with `Retry-After` when Redis did not carry it out: 429 when it is at its memory limit, 500 otherwise. If only the
   * answer was lost, the claims are released in the background
   */
  take(names: readonly string[], owner: string): Promise<ClaimState[]>;
  /**
   * Deletes the claims that are still pending for `owner`; final claims stay. If Redis does not carry it out, the release is repeated in
   * the background until the claims have expired.
   *
   * @throws ApiError when the first attempt failed, as `take` does
   */
  release(names: readonly string[], owner: string): Promise<void>;
  /** Reads claims without taking them; a claim without an owner is `free`. @throws ApiError, as `take` does */
  read(names: readonly string[]): Promise<ClaimState[]>;
}

/** The claims of one producer. */
export interface ProducerClaims extends Claims {
  /** When this process took its first claim for `owner`, epoch milliseconds; undefined if it has taken none, or has released some. */
  takenMs(owner: string): number | undefined;
  /** Stops repeating failed releases. */
  close(): void;
}

interface ClaimScripts {
  waymarkTakeClaims(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string[]>;
  waymarkReleaseClaims(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<number>;
}

/** Defines the claim scripts on a connection. */
function claimScripts(redis: Redis): ClaimScripts {
  redis.defineCommand('waymarkTakeClaims', { lua: TAKE_CLAIMS });
  redis.defineCommand('waymarkReleaseClaims', { lua: RELEASE_CLAIMS });
  return redis as Redis & ClaimScripts;
}

/** The error to answer when Redis did not carry out a claim or a commit: 429 if it is at its memory limit, else 500, both with `Retry-After`. */
export function notRecorded(cause: unknown): ApiError {
  if (isOutOfMemory(cause)) {
    return new ApiError('rate_limit_exceeded', 'Too many events at the moment. Retry later.', {
      cause,
      retryAfterSeconds: 5,
    });
  }
  return new ApiError('internal_server_error', 'The event could not be recorded. Retry later.', {
    cause,
    retryAfterSeconds: 1,
  });
}

/** A claim that the commit was to take is not free, or a filter mark has changed. The commit recorded nothing. */
export class ClaimHeldError extends Error {
  override readonly name = 'ClaimHeldError';
}

const ANSWER_WITHIN_MS = 2000;
const OWNERS_BEFORE_CLEANUP = 10_000;

/** Whether a claim is final. The caller is then answered with its value, which the replicas may not have yet. */
const isRecorded = (states: readonly ClaimState[]) => states.some(({ state }) => state === 'final');

/** Claims on the producer's connection; `now` returns epoch milliseconds. */
export function createClaims(redis: Redis, replication: Replication, now: () => number): ProducerClaims {
  const scripts = claimScripts(redis);
  const takenMs = new Map<string, number>();

  const releaseNow = (keys: readonly string[], pending: readonly string[]) =>
    withinMs(scripts.waymarkReleaseClaims(keys.length, ...keys, ...pending), ANSWER_WITHIN_MS, 'releasing claims');
  const lateReleases = createLateReleases(releaseNow, now);

  const removeExpiredOwners = () => {
    for (const [owner, at] of takenMs) {
      // Owners are in the order in which they were added. One whose time is ahead, because the clock was set back, is removed too, so that those after it can be.
      if (!hasElapsed(at, PENDING_TTL_MS, now())) return;
      takenMs.delete(owner);
    }
  };

  return {
    takenMs: (owner) => takenMs.get(owner),

    async take(names, owner) {
      if (names.length === 0) return [];
      if (takenMs.size >= OWNERS_BEFORE_CLEANUP) removeExpiredOwners();
      // The age counts from before the call, because Redis starts the TTL at some time during the call.
      const at = takenMs.get(owner) ?? now();
      if (now() - at > OWNER_GIVES_UP_MS) throw notRecorded(new Error('the owner of these claims is too old'));
      takenMs.set(owner, at);
      const mine = pendingValue(owner);
      const keys = names.map(claimKey);
      try {
        const take = async (): Promise<ClaimState[]> => {
          const held = await scripts.waymarkTakeClaims(keys.length, ...keys, PENDING_TTL_MS, ...keys.map(() => mine));
          return held.map((value) => (value === '' ? { state: 'mine' } : claimState(value, owner)));
        };
        return await withinMs(replication.confirmed(take, isRecorded), ANSWER_WITHIN_MS, 'taking claims');
      } catch (err) {
        if (!hadNoEffect(err)) lateReleases.add(keys, mine);
        throw notRecorded(err);
      }
    },

    async release(names, owner) {
      takenMs.delete(owner);
      if (names.length === 0) return;
      const keys = names.map(claimKey);
      const pending = pendingValue(owner);
      try {
        await releaseNow(
          keys,
          keys.map(() => pending),
        );
      } catch (err) {
        lateReleases.add(keys, pending);
        throw notRecorded(err);
      }
    },

    async read(names) {
      if (names.length === 0) return [];
      try {
        const read = async () => (await redis.mget(...names.map(claimKey))).map((value) => claimState(value));
        return await withinMs(replication.confirmed(read, isRecorded), ANSWER_WITHIN_MS, 'reading claims');
      } catch (err) {
        throw notRecorded(err);
      }
    },

    close: () => lateReleases.close(),
  };
}
