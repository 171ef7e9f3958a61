import type { QueueKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { withinMs } from '../redis/deadline.js';
import { jobIdTime } from './job-id.js';
import { queueKey } from './keys.js';

const ANSWER_WITHIN_MS = 2000;
/** Jobs are taken from the right end. A few more than the last, because a returned job is put back there. */
const WAITING_LOOKED_AT = 50;

/** When the oldest job of a queue was made, epoch milliseconds; undefined when it has none. */
export async function oldestQueuedMs(redis: Redis, kind: QueueKind): Promise<number | undefined> {
  const lookups = Promise.all([
    redis.lrange(queueKey(kind, 'wait'), -WAITING_LOOKED_AT, -1),
    redis.lrange(queueKey(kind, 'active'), 0, -1),
    redis.zrange(queueKey(kind, 'delayed'), '0', `${WAITING_LOOKED_AT}`),
  ]);
  const jobIds = (await withinMs(lookups, ANSWER_WITHIN_MS, 'looking at the queue')).flat();
  const times = jobIds.map(jobIdTime).filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}
