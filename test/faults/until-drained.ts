import { queueDepths } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';

/**
 * Waits until no event waits in Redis or is being written: what is compared then is final. An insert shows its rows before its
 * views have them, and one that a kill cut short ends when its jobs are given to the next writer.
 */
export async function untilDrained(redisUrl: string, timeoutMs: number): Promise<void> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  try {
    await waitFor(
      async () => {
        const { 'dead-letter': _kept, ...queues } = await queueDepths(redis);
        return Object.values(queues).every(({ waiting, active, delayed }) => waiting + active + delayed === 0);
      },
      { what: 'the queues to be empty', timeoutMs },
    );
  } finally {
    redis.disconnect();
  }
}
