import { setTimeout as delay } from 'node:timers/promises';

/** How long a step of a write is retried: long enough for a restart of Redis, and shorter than the TTL of a lock. */
const RETRY_MS_MAX = 5_000;
const PAUSE_MS = 50;

/**
 * Repeats an idempotent step of a write until it succeeds or five seconds have passed.
 *
 * @param isTemporary whether another attempt may succeed; by default after every error
 * @throws the error of the last attempt
 */
export async function retryWrite(
  step: () => Promise<unknown>,
  isTemporary: (err: unknown) => boolean = () => true,
): Promise<void> {
  for (const untilMs = performance.now() + RETRY_MS_MAX; ; ) {
    try {
      await step();
      return;
    } catch (err) {
      if (!isTemporary(err) || performance.now() > untilMs) throw err;
      await delay(PAUSE_MS);
    }
  }
}
