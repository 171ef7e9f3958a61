import { eventIdTime } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { createGenerations } from '@waymark/event-queue';

/**
 * Clicks that this process recorded in the last minutes and whose id was given away. A lead often follows its click before
 * the writer has written it: it needs neither the writer nor ClickHouse to find the click.
 */
export interface FreshClicks {
  /**
   * Only for a click that is in the queue or the spool: one that was not acknowledged does not exist.
   *
   * @param rowText its row as JSON, as the queue carries it
   */
  add(clickId: string, rowText: string): void;
  /** The click's row, as ClickHouse will have it. */
  find(workspaceNumber: string, clickId: string): EventRow | undefined;
}

const CLICKS_PER_GENERATION = 10_000;
const BYTES_PER_GENERATION = 16_000_000;
/** By then the writer has written it; while it is far behind, the click is looked for as all others are. */
const FRESH_MS = 5 * 60_000;

export function createFreshClicks(now: () => number): FreshClicks {
  // Bytes of their own: the text is stitched together from headers, each of which it would keep alive.
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
      if (bytes === undefined || (eventIdTime(clickId) ?? 0) + FRESH_MS < now()) return undefined;
      const row = JSON.parse(bytes.toString()) as EventRow;
      return row[0] === workspaceNumber ? row : undefined;
    },
  };
}
