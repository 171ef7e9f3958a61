import { answerWithin } from '@waymark/cache';
import { queuedEvents } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';

/** The longest time that {@link isQueueEmpty} takes, in milliseconds. */
export const COUNT_MS_MAX = 1_000;

/**
 * Whether the writer has left no job in the queue, without which `waymark move` refuses to run: of a writer that had to be killed, the rows
 * of a job may be in the old store already.
 *
 * @param redisUrl the Redis of the stack, which still runs, while no writer does
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
