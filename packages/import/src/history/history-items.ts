import { RowError } from '../model/source-link.js';
import { textChars } from '../model/text-chars.js';
import { untilAborted } from '../run/until-aborted.js';
import type { HistoryItem, HistorySource, PastEvent } from './past-event.js';
import { eventChars } from './past-rows.js';

/** Records of one insert: enough for an efficient insert, in a few megabytes of memory. */
const BATCH_MAX = 5_000;
/** Characters after which a batch is full too, because an event may have 300 kB, and a record without an event more. The last page of a batch may exceed it. */
const BATCH_CHARS_MAX = 32_000_000;
/** Pages after which the position is stored, also if none of them has a record. */
const BATCH_PAGES_MAX = 100;

/** Returned for a visit of a bot, which is not imported. */
export const BOT = 'bot';

/** Reads a record as an event; the item has the reason when it is none. */
export function toItem(row: number, record: unknown, read: (record: unknown) => PastEvent | typeof BOT): HistoryItem {
  try {
    const event = read(record);
    return event === BOT ? { row, record, isBot: true } : { row, record, event };
  } catch (err) {
    if (err instanceof RowError) return { row, record, error: err.message };
    throw err;
  }
}

/**
 * Parses the position that an earlier import of the same source stored; undefined without one. Its type is not checked.
 *
 * @throws SyntaxError for a text that is not JSON
 */
export function positionOf<T extends object>(text: string | undefined): T | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

/** The items of neighbouring pages, of one kind of event. */
export interface ItemBatch {
  readonly items: readonly HistoryItem[];
  /** `next` of the last of these pages. */
  readonly next: string;
}

const kindOf = (items: readonly HistoryItem[]) => items.find(({ event }) => event !== undefined)?.event?.kind;

function charsOf({ event, record }: HistoryItem): number {
  return Math.max(textChars(record), event === undefined ? 0 : eventChars(event));
}

/** Reads all pages from a position on. The next page is read once the batch before it is processed. @throws the reason of the signal */
export async function* itemBatches(
  history: HistorySource,
  from: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ItemBatch> {
  let items: HistoryItem[] = [];
  let next: string | undefined;
  let pages = 0;
  let chars = 0;
  /** Returns the batch that has been gathered, if any, and begins another one. */
  const gathered = (): ItemBatch[] => {
    const batches = next === undefined ? [] : [{ items, next }];
    items = [];
    next = undefined;
    pages = 0;
    chars = 0;
    return batches;
  };
  for await (const page of untilAborted(history.read(from), signal)) {
    // The clicks must be stored before their leads are read, because leads look them up.
    if (kindOf(items) !== undefined && kindOf(page.items) !== kindOf(items)) yield* gathered();
    items.push(...page.items);
    next = page.next;
    pages++;
    for (const item of page.items) chars += charsOf(item);
    if (items.length >= BATCH_MAX || pages >= BATCH_PAGES_MAX || chars >= BATCH_CHARS_MAX) yield* gathered();
  }
  yield* gathered();
}
