import { ImportError } from '../model/import-error.js';
import { RowError } from '../model/source-link.js';
import type { HistoryItem, PastEvent } from './past-event.js';

/** A visit of a bot, which is no click here. */
export const BOT = 'bot';

/** A record as an event of the source, or the reason why it is none. */
export function toItem(row: number, record: unknown, read: (record: unknown) => PastEvent | typeof BOT): HistoryItem {
  try {
    const event = read(record);
    return event === BOT ? { row, record, isBot: true } : { row, record, event };
  } catch (err) {
    if (err instanceof RowError || err instanceof ImportError) return { row, record, error: err.message };
    throw err;
  }
}

/** The position that an earlier page named. */
export function positionOf<T extends object>(text: string | undefined): T | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as T);
}
