import { eventIdTime } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { createGenerations } from '@waymark/event-queue';

/**
 * In-memory cache of clicks that this process recorded in the last minutes and whose ids it passed on. A lead often arrives before the writer
 * has stored its click. With this cache it waits neither for the writer nor for ClickHouse.
 */
export interface FreshClicks {
  /**
   * Call it only once the click is in the queue or the spool, so that no lead refers to a click that is never stored.
   *
   * @param rowText the click's row as JSON, as it is queued
   */
  add(clickId: string, rowText: string): void;
  /** The click's row, as it will be stored in ClickHouse. */
  find(workspaceNumber: string, clickId: string): EventRow | undefined;
}

const CLICKS_PER_GENERATION = 10_000;
const BYTES_PER_GENERATION = 16_000_000;
/** After this time the writer has usually stored the click, and it is looked up in ClickHouse. */
const MAX_AGE_MS = 5 * 60_000;

/** @param now epoch milliseconds */
export function createFreshClicks(now: () => number): FreshClicks {
  // Copied to buffers, because the concatenated text would keep the request headers in memory.
  const rows = createGenerations<Buffer>({
    entriesMax: CLICKS_PER_GENERATION,
    weightMax: BYTES_PER_GENERATION,
    weigh: (row) => row.length,
  });
  return {
    add(clickId, rowText) {
      rows.add(clickId, Buffer.from(rowText));
    },
    find(workspaceNumber, clickId) {
      const bytes = rows.get(clickId);
      if (bytes === undefined || (eventIdTime(clickId) ?? 0) + MAX_AGE_MS < now()) return undefined;
      const row = JSON.parse(bytes.toString()) as EventRow;
      return row[0] === workspaceNumber ? row : undefined;
    },
  };
}
