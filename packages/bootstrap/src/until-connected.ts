import { setTimeout as sleep } from 'node:timers/promises';

const CONNECT_WAIT_MS_MAX = 5_000;

/**
 * Waits until each check has resolved once, because requests before the first connections would fail. Begins no check after five
 * seconds, so that an outage delays no start for long; a check that hangs then is waited for.
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
      await sleep(10);
    }
  }
}
