import { randomUUID } from 'node:crypto';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { claimKey } from '../queue/keys.js';
import { claimState, finalValue, PENDING_TTL_MS } from './claim-value.js';

/**
 * Marks for filters of stored keys. A process may read once which customers and sales of a workspace ClickHouse has, and then decide
 * without ClickHouse that a key is new, because everything that was queued since has a claim. That is true as long as Redis keeps its
 * claims, and nothing is stored or released without one. The mark of a workspace stands for it: it is set before the keys are read,
 * every commit that relies on the filter is refused without it, and whatever stores events or customers without a claim, or removes a
 * claim, replaces it first. A Redis that has lost its data has no mark, and gets none for a while.
 */

/** Final value of a mark while no filter of the workspace may be used. */
const BLOCKED = 'blocked';

/**
 * How long filters of a workspace are not used after the last change that a claim does not show. Longer than a pending claim: after that
 * long, what a killed process has stored is read by the next filter.
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
 * Returns the mark; where there is none, creates it. In a Redis that has lost its data filters are blocked first: a writer may hold rows
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

/** A condition of a commit: the mark is in Redis as it was. */
export interface FilterMark {
  readonly key: string;
  /** The stored value that it must have. */
  readonly value: string;
  /** TTL that a commit gives it, ms. */
  readonly ttlMs: number;
}

/**
 * The mark of a workspace, which is created if there is none; in a Redis that never had one, after {@link FILTERS_BLOCKED_MS}. Read the stored
 * keys after it.
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
  const value = await replication.confirmed(open);
  const state = claimState(value);
  return state.state === 'final' && state.value !== BLOCKED ? { key, value, ttlMs: MARK_MS } : undefined;
}

/**
 * Blocks the filters of a workspace for {@link FILTERS_BLOCKED_MS}. Call it before events or customers are stored without a claim, or claims of
 * stored ones are removed, and again while that goes on.
 *
 * @throws the error of Redis or the connection
 */
export async function blockFilters(redis: Redis, replication: Replication, workspaceId: string): Promise<void> {
  await replication.confirmed(() => redis.set(markKey(workspaceId), finalValue(BLOCKED), 'PX', FILTERS_BLOCKED_MS));
}
