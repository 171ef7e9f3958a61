import { randomUUID } from 'node:crypto';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { claimState, finalValue, PENDING_TTL_MS } from './claim-value.js';

/**
 * Marks for Bloom filters of stored keys. A process may read from ClickHouse which customers and sales a workspace has, keep them as a Bloom
 * filter, and then decide without ClickHouse that a key is new: everything that was queued after the read has a claim. This is true only as
 * long as Redis keeps its claims, and nothing is stored without a claim or loses it.
 *
 * The mark of a workspace stands for this condition. It is set before the keys are read, and a commit that relies on the filter is refused
 * if the mark has changed. Whoever stores events or customers without a claim, or removes a claim, replaces the mark first. A Redis that has
 * lost its data has no mark, and gets none for a while.
 *
 * A request that looks a key up in ClickHouse without holding its claim relies on the mark in the same way: it reads the mark first.
 */

/** The value of a mark, as the value of a final claim, while no filter of the workspace may be used. */
const BLOCKED = 'blocked';

/**
 * How long the filters of a workspace stay blocked after the last event or customer was stored without a claim, or the last claim was
 * removed. It is longer than a pending claim lives, so that the next filter includes what a killed process has stored.
 */
export const FILTERS_BLOCKED_MS = PENDING_TTL_MS + 5_000;

/** TTL of a mark. Each commit that relies on it renews it. */
const MARK_MS = 7 * 24 * 3_600_000;

/** The Redis key of a workspace's mark: a claim, so that a commit checks it as it checks claims. */
function markKey(workspaceId: string): string {
  return claimKey(`filters:${workspaceId}`);
}

/** A key that is absent when Redis has lost its data, or has never had a mark of the workspace. */
function seenKey(workspaceId: string): string {
  return claimKey(`filters-seen:${workspaceId}`);
}

/**
 * Returns the mark, and creates it if there is none. In a Redis that has lost its data it first blocks the filters: a writer may hold rows
 * whose jobs and claims are gone, and store them after the keys were read. KEYS: the mark, the key of {@link seenKey}. ARGV: a new mark
 * and its TTL, the value that blocks filters and its TTL. TTLs are in milliseconds.
 */
const OPEN_MARK = `
local mark = redis.call('GET', KEYS[1])
if not mark then
  local value, ttl = ARGV[1], ARGV[2]
  if redis.call('EXISTS', KEYS[2]) == 0 then value, ttl = ARGV[3], ARGV[4] end
  redis.call('SET', KEYS[1], value, 'PX', ttl)
  mark = value
end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
return mark
`;

/** A condition of a commit: Redis has the mark, with the value that it had when the filter was read. */
export interface FilterMark {
  readonly key: string;
  /** The stored value that it must have. */
  readonly value: string;
  /** TTL that a commit gives it, ms. */
  readonly ttlMs: number;
}

/**
 * The mark of a workspace, which is created if there is none. In a Redis that never had one, filters are blocked for
 * {@link FILTERS_BLOCKED_MS} first. Read the stored keys after this call.
 *
 * @returns undefined while filters are blocked
 * @throws the error of Redis or the connection
 */
export async function openFilterMark(
  redis: Redis,
  replication: Replication,
  workspaceId: string,
): Promise<FilterMark | undefined> {
  const key = markKey(workspaceId);
  const values = [finalValue(randomUUID()), MARK_MS, finalValue(BLOCKED), FILTERS_BLOCKED_MS];
  const open = () => redis.eval(OPEN_MARK, 2, key, seenKey(workspaceId), ...values) as Promise<string>;
  // Usually there is one. Reading it waits for no disk; should a failover undo it, commits that rely on it are refused.
  const value = (await redis.get(key)) ?? (await replication.confirmed(open));
  const state = claimState(value);
  return state.state === 'final' && state.value !== BLOCKED ? { key, value, ttlMs: MARK_MS } : undefined;
}

/**
 * Blocks the filters of a workspace for {@link FILTERS_BLOCKED_MS}. Call it before storing events or customers without a claim, and before
 * removing claims of stored ones; and again at shorter intervals while that goes on.
 *
 * @throws the error of Redis or the connection
 */
export async function blockFilters(redis: Redis, replication: Replication, workspaceId: string): Promise<void> {
  await replication.confirmed(() => redis.set(markKey(workspaceId), finalValue(BLOCKED), 'PX', FILTERS_BLOCKED_MS));
}
