import { expireTokens } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import type { Catalog } from './catalog.js';
import { evictAll } from './redis/evict-all.js';

/** Stores that were restored from a backup. */
export interface RestoredStores {
  readonly catalog: Catalog;
  /** The Redis of each queue shard, by number. */
  readonly queues: readonly Redis[];
  /** When the backup was made, ISO 8601. */
  readonly backupAt: string;
  readonly now: () => number;
}

/**
 * Prepares restored stores for the services. Call it before they start; it may be repeated.
 *
 * - Deletes the caches in Redis: the copy of Redis may be older than that of ClickHouse.
 * - Has the writers look up what was inserted and not acknowledged when the copies were made.
 * - Disables the export schedules. They would export what was stored after the backup once more, without the events that are lost, and
 *   overwrite what the lost installation has uploaded.
 *
 * @returns the number of schedules that were disabled
 */
export async function afterRestore({ catalog, queues, backupAt, now }: RestoredStores): Promise<number> {
  for (const queue of queues) {
    await evictAll(queue);
    await expireTokens(queue);
  }
  return catalog.exportSchedules.disableRestored(backupAt, new Date(now()).toISOString());
}
