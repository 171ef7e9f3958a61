import { LockedError } from '@waymark/catalog';

/** Longer than the locks of a killed process last. */
const WAIT_MS_MAX = 40_000;

/**
 * Repeats `work` while another process holds a lock that it needs, so that an import can follow one that was killed.
 *
 * @param work must have written nothing when it throws LockedError; it waits for the lock itself, so no pause between attempts is needed
 * @throws what `work` throws; LockedError after 40 s
 */
export async function whenUnlocked<T>(work: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    try {
      return await work();
    } catch (err) {
      if (!(err instanceof LockedError) || performance.now() > untilMs) throw err;
    }
  }
}
