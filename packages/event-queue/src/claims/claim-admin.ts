import { randomUUID } from 'node:crypto';
import { UnknownOutcomeError } from '@waymark/clickhouse';
import { chunksOf } from '@waymark/contract';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { pause, withinMs } from '../redis/deadline.js';
import { RELEASE_CLAIMS } from './claim-scripts.js';
import { claimState, finalValue, OWNER_GIVES_UP_MS, PENDING_TTL_MS, pendingValue } from './claim-value.js';
import { notRecorded } from './claims.js';
import { blockFilters } from './filter-marks.js';
import { createLateReleases } from './late-releases.js';

const ANSWER_WITHIN_MS = 2000;
/** Longer than a request usually holds a claim; while ClickHouse is slow, it may be up to `OWNER_GIVES_UP_MS`. */
const PENDING_WAIT_MS = 5000;
/** A request of `/track` that holds a claim may make it final with what it read before; later than this it does not, so it was killed. */
const FINAL_WAIT_MS = OWNER_GIVES_UP_MS + 1000;
/** A pending claim with no more TTL left than this was taken longer ago than that, and deletions do not wait for it. */
const LEFT_MS_OF_KILLED = PENDING_TTL_MS - FINAL_WAIT_MS;
const POLL_MS = 20;
const CLAIMS_AT_ONCE = 500;

/** Deletes claims that are final. KEYS: the claims. ARGV: {@link LEFT_MS_OF_KILLED}. Returns how many are pending with more TTL. */
const REMOVE_CLAIMS = `
local pending = 0
for i = 1, #KEYS do
  local held = redis.call('GET', KEYS[i])
  if held and string.sub(held, 1, 2) == 'f:' then redis.call('DEL', KEYS[i])
  elseif held and redis.call('PTTL', KEYS[i]) > tonumber(ARGV[1]) then pending = pending + 1 end
end
return pending
`;

/**
 * Changes claims that still have the expected value. KEYS: the claims. ARGV: the expected and the new value of each. Returns how many had
 * another value.
 */
const CHANGE_CLAIMS = `
local missed = 0
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[2 * i - 1] then redis.call('SET', KEYS[i], ARGV[2 * i], 'KEEPTTL')
  else missed = missed + 1 end
end
return missed
`;

/**
 * Takes a claim, also one that is final. KEYS[1]: the claim. ARGV: the owner's pending value and its TTL in milliseconds. Returns 0 while
 * another owner holds it.
 */
const TAKE_OVER = `
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 2) ~= 'f:' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/**
 * Finalizes or releases a claim on behalf of its owner. KEYS[1]: the claim. ARGV: the owner's pending value; the final value
 * (empty: release) and its TTL in milliseconds.
 */
const END_CLAIM = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
`;

/**
 * Claims for requests and imports that create, change or delete resources which `/track` creates under a claim, such as customers.
 *
 * All methods throw ApiError with `Retry-After`: 429 when Redis is at its memory limit, 500 when it does not answer.
 */
export interface ClaimAdmin {
  /**
   * Runs `work` while holding the claim. Then makes the claim final, with the result as JSON, which later events read. Waits while another
   * owner holds the claim, because that owner may still release it. After an UnknownOutcomeError of `work` the claim is not released but
   * expires later, because what `work` creates may still be stored.
   *
   * @param ttlMs TTL of the final claim
   * @returns undefined, without running `work`, when the claim is final already
   * @throws ApiError 500 also when another owner holds the claim for too long; what `work` throws
   */
  runOnce<T>(name: string, ttlMs: number, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Runs `work` while holding the claim, also one that is final, and then deletes it. For a `work` that takes from a resource what the claim
   * stands for: an event that read the resource before must not make the claim final after. Call `blockFilters` before. Waits as `runOnce`
   * does, and lets the claim expire after an UnknownOutcomeError.
   *
   * @throws ApiError 500 when another owner holds the claim for too long; what `work` throws
   */
  runAndRemove<T>(name: string, work: () => Promise<T>): Promise<T>;
  /**
   * Deletes final claims, so that the next event reads ClickHouse again. Waits for requests that hold one of them, at most eleven seconds
   * after they took it: they may have read the old state, and make the claim final with it. Call `blockFilters` before.
   */
  remove(names: readonly string[]): Promise<void>;
  /**
   * Changes the values of final claims, with which repeated requests are answered. Waits like `remove`.
   *
   * @param change returns the new value; the same value leaves the claim as it is
   */
  change(names: readonly string[], change: (value: string) => string): Promise<void>;
  /**
   * Makes events of the workspace read ClickHouse instead of a filter of its keys (see filter-marks.ts). Call it before a customer is stored
   * or renamed, and before claims of stored customers or events are removed.
   */
  blockFilters(workspaceId: string): Promise<void>;
}

export interface ClaimAdminOptions {
  /**
   * How many replicas of Redis must confirm a change; 0 by default. If a failover undid a removal, events would be answered with what was
   * removed.
   */
  readonly waitReplicas?: number | undefined;
  /** How long to wait for other owners of a claim; by default five seconds to take it, and eleven to delete or change it. */
  readonly pendingWaitMs?: number;
}

/** @param redis the Redis of the workspace's queue shard */
export function createClaimAdmin(redis: Redis, options: ClaimAdminOptions = {}): ClaimAdmin {
  const { waitReplicas = 0, pendingWaitMs = PENDING_WAIT_MS } = options;
  const finalWaitMs = options.pendingWaitMs ?? FINAL_WAIT_MS;
  const replication = createReplication(redis, waitReplicas);
  const lateReleases = createLateReleases(
    (keys, mine) => redis.eval(RELEASE_CLAIMS, keys.length, ...keys, ...mine),
    Date.now,
  );

  async function withinDeadline<T>(command: Promise<T>, what: string): Promise<T> {
    try {
      return await withinMs(command, ANSWER_WITHIN_MS, what);
    } catch (err) {
      throw notRecorded(err);
    }
  }

  async function removeSome(keys: readonly string[]): Promise<void> {
    const untilMs = performance.now() + finalWaitMs;
    for (;;) {
      const removing = replication.confirmed(() => redis.eval(REMOVE_CLAIMS, keys.length, ...keys, LEFT_MS_OF_KILLED));
      const pending = await withinDeadline(removing, 'deleting claims');
      // The owner was killed: it records nothing any more, and its claim expires.
      if (pending === 0 || performance.now() > untilMs) return;
      await pause(POLL_MS);
    }
  }

  /** @returns whether to try again: some claims are pending, or were changed by another process since they were read */
  async function changeFinal(keys: readonly string[], change: (value: string) => string): Promise<boolean> {
    const stored = await withinDeadline(redis.mget(...keys), 'reading claims');
    const states = stored.map((value) => claimState(value));
    const changes = keys.flatMap((key, index) => {
      const state = states[index];
      if (state?.state !== 'final') return [];
      const after = change(state.value);
      return after === state.value ? [] : [{ key, before: finalValue(state.value), after: finalValue(after) }];
    });
    const pending = keys.filter((_, index) => states[index]?.state === 'pending');
    const leftMs = await withinDeadline(Promise.all(pending.map((key) => redis.pttl(key))), 'reading claims');
    // A claim without a TTL (-1) became final after it was read.
    const isPending = leftMs.some((left) => left === -1 || left > LEFT_MS_OF_KILLED);
    if (changes.length === 0) return isPending;
    const names = changes.map(({ key }) => key);
    const values = changes.flatMap(({ before, after }) => [before, after]);
    const changing = replication.confirmed(() => redis.eval(CHANGE_CLAIMS, names.length, ...names, ...values));
    return (await withinDeadline(changing, 'changing claims')) !== 0 || isPending;
  }

  /** Takes a claim, and waits while it is pending. @returns false when the claim is final */
  async function takeWhenFree(key: string, mine: string): Promise<boolean> {
    const untilMs = performance.now() + pendingWaitMs;
    while ((await withinDeadline(redis.set(key, mine, 'PX', PENDING_TTL_MS, 'NX'), 'taking a claim')) === null) {
      const { state } = claimState(await withinDeadline(redis.get(key), 'reading a claim'));
      if (state === 'final') return false;
      if (performance.now() > untilMs) throw notRecorded(new Error('another request holds the claim'));
      if (state === 'pending') await pause(POLL_MS);
    }
    return true;
  }

  /** Takes a claim, also one that is final, and waits while it is pending. */
  async function takeOver(key: string, mine: string): Promise<void> {
    const untilMs = performance.now() + pendingWaitMs;
    for (;;) {
      const taking = replication.confirmed(() => redis.eval(TAKE_OVER, 1, key, mine, PENDING_TTL_MS));
      if ((await withinDeadline(taking, 'taking a claim')) === 1) return;
      if (performance.now() > untilMs) throw notRecorded(new Error('another request holds the claim'));
      await pause(POLL_MS);
    }
  }

  /** Takes a claim by `take`. If that fails, Redis may have carried it out all the same: the claim is then released in the background. */
  async function taking<T>(take: (key: string, mine: string) => Promise<T>, key: string, mine: string): Promise<T> {
    try {
      return await take(key, mine);
    } catch (err) {
      lateReleases.add([key], mine);
      throw err;
    }
  }

  /** Runs `work` under a claim that is taken, and ends the claim. @param finalOf the final value; '' deletes the claim */
  async function runUnder<T>(
    { key, mine, ttlMs }: { readonly key: string; readonly mine: string; readonly ttlMs: number },
    work: () => Promise<T>,
    finalOf: (result: T) => string,
  ): Promise<T> {
    // If this fails the claim expires, and the resource is read from ClickHouse instead.
    const end = (stored: string) => redis.eval(END_CLAIM, 1, key, mine, stored, ttlMs).catch(() => undefined);
    let result: T;
    try {
      result = await work();
    } catch (err) {
      if (!(err instanceof UnknownOutcomeError)) await end('');
      throw err;
    }
    await end(finalOf(result));
    return result;
  }

  return {
    async runOnce(name, ttlMs, work) {
      const claim = { key: claimKey(name), mine: pendingValue(randomUUID()), ttlMs };
      if (!(await taking(takeWhenFree, claim.key, claim.mine))) return undefined;
      return runUnder(claim, work, (result) => finalValue(JSON.stringify(result)));
    },

    async runAndRemove(name, work) {
      const claim = { key: claimKey(name), mine: pendingValue(randomUUID()), ttlMs: PENDING_TTL_MS };
      await taking(takeOver, claim.key, claim.mine);
      return runUnder(claim, work, () => '');
    },

    blockFilters: (workspaceId) =>
      withinDeadline(blockFilters(redis, replication, workspaceId), 'blocking filters of stored keys'),

    async remove(names) {
      for (const keys of chunksOf(names.map(claimKey), CLAIMS_AT_ONCE)) await removeSome(keys);
    },

    async change(names, change) {
      for (const keys of chunksOf(names.map(claimKey), CLAIMS_AT_ONCE)) {
        const untilMs = performance.now() + finalWaitMs;
        while ((await changeFinal(keys, change)) && performance.now() < untilMs) await pause(POLL_MS);
      }
    },
  };
}
