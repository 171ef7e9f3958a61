import type { WebhookRecord } from '@waymark/catalog';
import { execute, stateKey } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { FAILURES_MAX } from './retry-schedule.js';

/** A webhook as it was last changed. */
type CountedWebhook = Pick<WebhookRecord, 'id' | 'updatedAt'>;

/**
 * Counts failed attempts in a row, for all writers together. A count is of the webhook as it is: one that was enabled again, or
 * changed otherwise, has another, so that neither what it was disabled for nor an attempt that ends late counts against it.
 */
export interface FailureCounts {
  read(webhook: CountedWebhook): Promise<number>;
  /**
   * @returns how many there are with this one
   * @throws when Redis did not count it
   */
  add(webhook: CountedWebhook): Promise<number>;
  /** After a success. A count that is full stays: the webhook is being disabled, by every process. */
  reset(webhook: CountedWebhook): Promise<void>;
}

/** A webhook that is not delivered to for so long starts anew. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** KEYS: the count. ARGV: how many make it full. */
const RESET = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count > 0 and count < tonumber(ARGV[1]) then redis.call('DEL', KEYS[1]) end
return 0
`;

export function createFailureCounts(redis: Redis): FailureCounts {
  const keyOf = ({ id, updatedAt }: CountedWebhook) => stateKey(`webhook-failures:${id}:${updatedAt}`);
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
