import { queueDepths } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';
import { waitFor } from '@waymark/test-kit';

/**
 * Waits until no event is queued or being written, so that a comparison afterwards is final. An insert shows its rows before its
 * views have them, and an interrupted insert is completed when the next writer takes its jobs.
 */
export async function untilDrained(redisUrl: string, timeoutMs: number): Promise<void> {
  const redis = connectRedis(redisUrl, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
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
