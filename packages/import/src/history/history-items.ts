import { ImportError } from '../model/import-error.js';
import { RowError } from '../model/source-link.js';
import type { HistoryItem, PastEvent } from './past-event.js';

/** Returned for a visit of a bot, which is not imported. */
export const BOT = 'bot';

/** Reads a record as an event; the item has the reason when it is none. */
export function toItem(row: number, record: unknown, read: (record: unknown) => PastEvent | typeof BOT): HistoryItem {
  try {
    const event = read(record);
    return event === BOT ? { row, record, isBot: true } : { row, record, event };
  } catch (err) {
    if (err instanceof RowError || err instanceof ImportError) return { row, record, error: err.message };
    throw err;
  }
}

/** Parses the position that an earlier import stored; undefined without one. */
export function positionOf<T extends object>(text: string | undefined): T | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as T);
}
