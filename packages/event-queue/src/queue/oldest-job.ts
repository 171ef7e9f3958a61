import type { QueueKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { withinMs } from '../redis/deadline.js';
import { jobIdTime } from './job-id.js';
import { queueKey } from './keys.js';

const ANSWER_WITHIN_MS = 2000;
/**
 * Workers take jobs from the right end of the list. Several are read, because returned jobs are put back there, whatever their age. Jobs of a
 * replay are added at the left end, also whatever their age. They count once they are among the next ones, or active: the list can have
 * millions.
 */
const WAITING_JOBS_READ = 50;

/**
 * When the oldest job of a queue was created, epoch milliseconds; undefined if the queue is empty. It is a bound: an older job counts once it
 * is among the next {@link WAITING_JOBS_READ}. That matters after a spool was replayed, or a writer that held many jobs was killed.
 */
export async function oldestQueuedMs(redis: Redis, kind: QueueKind): Promise<number | undefined> {
  const lookups = Promise.all([
    redis.lrange(queueKey(kind, 'wait'), -WAITING_JOBS_READ, -1),
    redis.lrange(queueKey(kind, 'active'), 0, -1),
    redis.zrange(queueKey(kind, 'delayed'), '0', `${WAITING_JOBS_READ}`),
  ]);
  const jobIds = (await withinMs(lookups, ANSWER_WITHIN_MS, 'reading the queue')).flat();
  const times = jobIds.map(jobIdTime).filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}
