import { setImmediate } from 'node:timers/promises';

/**
 * Lets the event loop read sockets, so that other requests run between two parts of long work. One immediate is not enough: it
 * runs in the same turn of the loop as its caller, before any socket is read.
 */
export async function yieldToRequests(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
