import { setTimeout as delay } from 'node:timers/promises';

const CONNECT_WAIT_MS_MAX = 5_000;

/**
 * Waits until each check has resolved once, because requests before the first connections would fail. Starts no check after five
 * seconds, so that an outage does not delay the start for long. A check that is running by then is awaited, however long it takes.
 */
export async function untilConnected(checks: readonly (() => Promise<unknown>)[]): Promise<void> {
  const deadlineMs = performance.now() + CONNECT_WAIT_MS_MAX;
  for (const check of checks) {
    while (performance.now() < deadlineMs) {
      const isConnected = await check().then(
        () => true,
        () => false,
      );
      if (isConnected) break;
      await delay(10);
    }
  }
}
