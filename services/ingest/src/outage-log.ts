import { throttled } from '@waymark/event-queue';

const LINES_EVERY_MS = 1000;

/**
 * Limits the lines about failed visits to one a second. Anybody can cause thousands of such visits a second while a store is away: a line for each
 * would fill the disk, which the stores may be on too.
 */
export function outageLog(log: (context: object, message: string) => void): (context: object, message: string) => void {
  return throttled(log, LINES_EVERY_MS);
}
