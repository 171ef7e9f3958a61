import type { Redis } from 'ioredis';
import { z } from 'zod';
import { QUEUE_PREFIX } from '../queue/keys.js';

/** Hash of the registered processes: JSON by service, host and process id (packages/observability). */
export const INSTANCES_KEY = `${QUEUE_PREFIX}:instances`;
/** Hash: how often processes of each service have started. */
export const START_COUNTS_KEY = `${QUEUE_PREFIX}:start-counts`;
/** How many of those starts were of processes that keep histories; incremented in the same transaction. */
export const KEEPER_STARTS_KEY = `${QUEUE_PREFIX}:history-keeper-starts`;

const keeperSchema = z.object({ keepsHistories: z.literal(true) });

function isKeeper(instance: string): boolean {
  try {
    return keeperSchema.safeParse(JSON.parse(instance)).success;
  } catch {
    return false;
  }
}

/**
 * Whether a process is registered that does not set claims in histories: one of a release before histories. While it runs, no history
 * may be filled; once it has started, those that exist are not trusted any more (see history-scripts.ts).
 */
export async function hasOtherProcesses(redis: Redis): Promise<boolean> {
  return !(await redis.hvals(INSTANCES_KEY)).every(isKeeper);
}
