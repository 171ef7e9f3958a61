import { answerWithin } from '@waymark/cache';
import { noteQueuedJobs } from '@waymark/config';
import { queuedEvents } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';

/** Part of the time in which a service manager expects the stop of the stack. */
const COUNT_MS_MAX = 1_000;

/**
 * Notes which jobs the writer has left in the queue, so that `waymark move` can refuse to run: of a writer that had to be killed, the rows of
 * such a job may be in the old store already.
 *
 * @param redisUrl the Redis of the stack, which still runs
 */
export async function noteLeftJobs(dataDir: string, redisUrl: string): Promise<void> {
  const redis = connectRedis(redisUrl, { retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    const jobs = await answerWithin(queuedEvents(redis), COUNT_MS_MAX).catch(() => 'an unknown number');
    noteQueuedJobs(dataDir, jobs);
  } finally {
    redis.disconnect();
  }
}
