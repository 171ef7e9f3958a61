import type { WebhookRecord } from '@waymark/catalog';
import { execute, stateKey } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { FAILURES_MAX } from './retry-schedule.js';

/** A version of a webhook: every change sets a new `updatedAt`. */
type WebhookVersion = Pick<WebhookRecord, 'id' | 'updatedAt'>;

/**
 * Counts consecutive failed attempts in Redis, shared by all writers. A count belongs to one version of a webhook: enabling or
 * changing the webhook starts a new count, so that neither earlier failures nor attempts that end late count against it.
 */
export interface FailureCounts {
  /** The count; 0 if there is none. */
  read(webhook: WebhookVersion): Promise<number>;
  /**
   * Counts a failure.
   *
   * @returns the new count
   * @throws when Redis did not count it
   */
  add(webhook: WebhookVersion): Promise<number>;
  /** Call it after a success. A count that has reached the limit stays, because the webhook is being disabled. */
  reset(webhook: WebhookVersion): Promise<void>;
}

/** TTL of a count, from its last failure. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** Removes a count below the limit. KEYS: the count. ARGV: the limit. */
const RESET = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count > 0 and count < tonumber(ARGV[1]) then redis.call('DEL', KEYS[1]) end
return 0
`;

/** Creates the counts of a queue shard. @param redis its Redis; the connection may be shared */
export function createFailureCounts(redis: Redis): FailureCounts {
  const keyOf = ({ id, updatedAt }: WebhookVersion) => stateKey(`webhook-failures:${id}:${updatedAt}`);
  return {
    async read(webhook) {
      return Number((await redis.get(keyOf(webhook))) ?? 0);
    },
    async add(webhook) {
      const key = keyOf(webhook);
      const [count] = await execute(redis.multi().incr(key).pexpire(key, KEPT_MS));
      return Number(count);
    },
    async reset(webhook) {
      await redis.eval(RESET, 1, keyOf(webhook), FAILURES_MAX);
    },
  };
}
