import { expireTokens } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import type { Catalog } from './catalog.js';
import { evictAll } from './redis/evict-all.js';

/** Stores that were restored from a backup. */
export interface RestoredStores {
  readonly catalog: Catalog;
  /** The Redis of each queue shard, by number. */
  readonly queues: readonly Redis[];
  /** When the backup was created, ISO 8601. */
  readonly backupAt: string;
  /**
   * Whether ClickHouse has lost its deduplication tokens, as after `RESTORE`. A copy of an embedded store has them: there a repeated insert also
   * completes the views of one that was interrupted, which a look-up of its rows would not.
   */
  readonly areTokensLost: boolean;
  readonly now: () => number;
}

/**
 * Prepares restored stores for the services. Call it before they start; it may be repeated.
 *
 * - Deletes the caches in Redis: the copy of Redis may be older than that of ClickHouse.
 * - If ClickHouse has lost its tokens, has the writers look up what was inserted and not acknowledged when the copies were made.
 * - Disables the export schedules. They would export what was stored after the backup once more, without the events that are lost, and
 *   overwrite what the lost installation has uploaded.
 *
 * @returns the number of schedules that were disabled
 */
export async function afterRestore(stores: RestoredStores): Promise<number> {
  const { catalog, queues, backupAt, areTokensLost, now } = stores;
  for (const queue of queues) {
    await evictAll(queue);
    if (areTokensLost) await expireTokens(queue);
  }
  return catalog.exportSchedules.disableRestored(backupAt, new Date(now()).toISOString());
}
