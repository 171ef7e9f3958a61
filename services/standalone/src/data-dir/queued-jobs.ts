import { answerWithin } from '@waymark/cache';
import { queuedEvents } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';

/** The longest time that {@link isQueueEmpty} takes, in milliseconds. */
export const COUNT_MS_MAX = 1_000;

/**
 * Whether the writer has left no job in the queue. If it has left one, `waymark move` refuses to run, because a writer that had to be killed
 * may have inserted the rows of the job into the old store already.
 *
 * @param redisUrl the Redis of the stack, which still runs when the writer has ended
 * @returns false as well when the queue cannot be counted
 */
export async function isQueueEmpty(redisUrl: string, report: (line: string) => void): Promise<boolean> {
  const redis = connectRedis(redisUrl, { retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    const jobs = await answerWithin(queuedEvents(redis), COUNT_MS_MAX);
    if (jobs !== '') report(`the queue still has jobs: ${jobs}`);
    return jobs === '';
  } catch (err) {
    report(`the queue was not counted: ${err instanceof Error ? err.message : String(err)}`);
    return false;
  } finally {
    redis.disconnect();
  }
}
