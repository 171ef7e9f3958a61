import { type Cursor, isRefusedCursor, nextCursor, readAtCursor } from '../apis/dub-cursors.js';
import { listIn, textIn } from '../apis/pages.js';
import type { SourceClient } from '../apis/source-client.js';
import { isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import { dubCustomer, dubEvent, dubEventTime } from './dub-events.js';
import { positionOf, toItem } from './history-items.js';
import type { HistoryPage, HistorySource, PastEvent } from './past-event.js';

/** Before every event that a source can have. */
const START = '1990-01-01T00:00:00.000Z';
/** dub refuses an earlier start, and has no earlier events. */
const DUB_START = '2022-09-22T00:00:00.000Z';
const EVENTS_PER_PAGE = 1000;
/** Number of events at the end of a page that are read again to see whether events have moved. */
const EVENTS_PER_CHECK = 10;
const CUSTOMERS_PER_PAGE = 100;
/** Pages without an event, one after the other, after which the events end if the source does not count them. */
const EMPTY_PAGES_UNCOUNTED = 3;
/** The same if it counts more: fifty million events of deleted links. */
const EMPTY_PAGES_MAX = 50_000;
/** How often pages are read again because events have moved between them. */
const REPEATS_MAX = 5;
/** Clicks come first, because leads refer to them, and customers last, because the first lead of a customer decides its attribution. */
const STEPS = ['clicks', 'leads', 'sales', 'customers'] as const;

/**
 * Where to continue, stored as JSON after each batch. Positions that an earlier version has stored lack the optional fields, and those
 * within the customers have no `cursor`: then the customers after `start` are read, and all before it once more.
 */
interface Position {
  /** Index in {@link STEPS}. */
  readonly step: number;
  /** For events, the ISO time from which the pages are numbered; for customers, the id of the last one that was read, empty before the first. */
  readonly start: string;
  readonly page: number;
  /** Number of records that were read so far. */
  readonly row: number;
  /** ISO time of the start of the import; later events are left to a later import. */
  readonly end: string;
  /** Ids of records that were read already and come again: for events, at most one page of them. */
  readonly seen: readonly string[];
  /** Whether the source begins at the start of the day of `start`, as dub does. */
  readonly isByDay?: boolean;
  /** Ids of the first and the last record of the page before, if pages are numbered from the same start. */
  readonly before?: { readonly first: string; readonly last: string } | undefined;
  /** How often the pages from `start`, or all customers, were read again. */
  readonly repeats?: number;
  /** Number of pages without an event, one after the other. */
  readonly empty?: number;
  readonly cursor?: Cursor | undefined;
}

function idOf(record: unknown): string {
  return textIn(record, 'eventId') ?? textIn(isObject(record) ? record.click : undefined, 'id') ?? '';
}

const isoOf = (ms: number) => new Date(ms).toISOString();
const dayOf = (iso: string) => `${iso.slice(0, 10)}T00:00:00.000Z`;

/** The ISO times of records that have one. */
function timesOf(records: readonly unknown[]): string[] {
  return records.flatMap((record) => {
    const ms = dubEventTime(record);
    return ms === undefined ? [] : [isoOf(ms)];
  });
}

/** Whether an event was there when the import started: dub lists events until the end of the day. Events without a time are rejected later. */
const isDue = (record: unknown, end: string) => (timesOf([record])[0] ?? '') <= end;

/** Ids of the events of the day of `time`: all that a page from a time of that day can repeat. */
function idsOfDay(records: readonly unknown[], time: string): string[] {
  return records.filter((record) => (timesOf([record])[0] ?? '') >= dayOf(time)).map(idOf);
}

/** The position after a page with events. A page that is short is not the last one: dub leaves out events of deleted links after it counts. */
function afterEvents(at: Position, records: readonly unknown[]): Position {
  const last = timesOf(records).at(-1);
  const start = last === undefined || at.isByDay !== true ? last : dayOf(last);
  const [first, end] = [idOf(records[0]), idOf(records.at(-1))];
  // The next page cannot start later than this one: continue by page number.
  if (last === undefined || start === undefined || start <= at.start)
    return { ...at, page: at.page + 1, empty: 0, before: { first, last: end } };
  return { ...at, start, page: 1, seen: idsOfDay(records, last), before: undefined, repeats: 0, empty: 0 };
}

export interface DubHistoryOptions {
  readonly client: SourceClient;
  /** Base URL of the API, without a slash at its end. */
  readonly address: string;
  /** See {@link HistorySource.identity}. */
  readonly identity: string;
  readonly now: () => number;
}

/**
 * Reads the history of an account of dub, events in the order of time. A page starts at the time of the last event of the page before or,
 * where the source takes whole days only, at its day; the pages of one day are numbered. Events that are removed while pages are read move
 * others to the page before: then the day is read again. So none is skipped, and an event that is on two pages is stored once.
 */
export function dubHistory({ client, address, identity, now }: DubHistoryOptions): HistorySource {
  const periodOf = ({ start, end }: Position) => `start=${encodeURIComponent(start)}&end=${encodeURIComponent(end)}`;

  async function listEvents(event: string, at: Position, page: number, limit = EVENTS_PER_PAGE) {
    const order = `sortBy=timestamp&sortOrder=asc&limit=${limit}&page=${page}`;
    return listIn(await client.getJson(`${address}/events?event=${event}&${periodOf(at)}&${order}`));
  }

  /** Reads a page, and corrects the position: the source may refuse early times, or begin earlier than at the requested time. */
  async function eventPage(event: string, at: Position): Promise<{ at: Position; records: readonly unknown[] }> {
    try {
      const records = await listEvents(event, at, at.page);
      const isEarlier = at.page === 1 && (timesOf(records)[0] ?? at.start) < at.start;
      return { at: isEarlier ? { ...at, start: dayOf(at.start), isByDay: true } : at, records };
    } catch (err) {
      if (!(err instanceof ImportError) || err.status !== 422 || at.start >= DUB_START) throw err;
      return eventPage(event, { ...at, start: DUB_START, page: 1, seen: [] });
    }
  }

  /**
   * Whether the page before still ends with the same event, so that none has moved to it. Events that were recorded since the import
   * started are left out. A page of events of deleted links has no answer.
   */
  async function isInPlace(event: string, at: Position, isEmpty: boolean): Promise<boolean> {
    if (at.before === undefined) return true;
    const limit = isEmpty ? EVENTS_PER_PAGE : EVENTS_PER_CHECK;
    const again = await listEvents(event, at, ((at.page - 1) * EVENTS_PER_PAGE) / limit, limit);
    const due = again.filter((record) => isDue(record, at.end));
    return again.length === 0 || idOf(due.at(-1)) === at.before.last;
  }

  /** The number of events from the start of the position, those of deleted links included; undefined when the source does not return it. */
  async function countOf(event: string, at: Position): Promise<number | undefined> {
    try {
      const answer = await client.getJson(`${address}/analytics?event=${event}&groupBy=count&${periodOf(at)}`);
      const count = Number(textIn(answer, event));
      return Number.isFinite(count) ? count : undefined;
    } catch (err) {
      if (err instanceof ImportError && err.status !== undefined) return undefined;
      throw err;
    }
  }

  /** The position after a page without an event; undefined when there are no more events. */
  async function afterNone(event: string, at: Position): Promise<Position | undefined> {
    const empty = (at.empty ?? 0) + 1;
    const count = await countOf(event, at);
    if (count === undefined ? empty >= EMPTY_PAGES_UNCOUNTED : at.page * EVENTS_PER_PAGE >= count) return undefined;
    if (empty >= EMPTY_PAGES_MAX) throw new ImportError(`the source counts ${count} ${event}, and lists none of them`);
    return { ...at, page: at.page + 1, before: undefined, empty };
  }

  /** The position of the next page of events; undefined after the last page. */
  async function nextEvents(event: string, at: Position, records: readonly unknown[]): Promise<Position | undefined> {
    const isEmpty = records.length === 0;
    const first = idOf(records[0]);
    if (first !== '' && at.before?.first === first)
      throw new ImportError('the source answers the same page again and again');
    const { repeats = 0 } = at;
    if (repeats < REPEATS_MAX && !(await isInPlace(event, at, isEmpty)))
      return { ...at, page: 1, seen: [], before: undefined, repeats: repeats + 1 };
    // Pages are in the order of time: all events after one that was recorded since the import started are left to a later import.
    if ((timesOf(records).at(-1) ?? '') > at.end) return undefined;
    return isEmpty ? afterNone(event, at) : afterEvents(at, records);
  }

  /**
   * Reads a page of customers. Those of the first page come again in another order. All are read again if the customer at whom an earlier
   * run has ended was deleted.
   */
  async function customerPage(at: Position) {
    const old: Cursor | undefined =
      at.start === '' ? undefined : { parameter: 'startingAfter', id: at.start, pivot: at.start };
    const { cursor = old } = at;
    const url = `${address}/customers?pageSize=${CUSTOMERS_PER_PAGE}&includeExpandedFields=true&sortBy=createdAt&sortOrder=asc`;
    const { repeats = 0 } = at;
    let page: Awaited<ReturnType<typeof readAtCursor>>;
    try {
      page = await readAtCursor(cursor, async (query) => listIn(await client.getJson(`${url}${query}`)));
    } catch (err) {
      if (!isRefusedCursor(cursor, err) || repeats >= REPEATS_MAX) throw err;
      return { records: [], next: { ...at, start: '', seen: [], cursor: undefined, repeats: repeats + 1 } };
    }
    const { records } = page;
    const following = nextCursor(page.cursor, records);
    const seen = cursor === undefined ? records.flatMap((record) => textIn(record, 'id') ?? []) : at.seen;
    return { records, next: following && { ...at, start: following.id, seen, cursor: following } };
  }

  /** Reads the page at the position. @returns its records that were not read before, and the next position of the step, if there is one */
  async function readPage(step: (typeof STEPS)[number], position: Position) {
    const skip = new Set(position.seen);
    if (step === 'customers') {
      const { records, next } = await customerPage(position);
      return { fresh: records.filter((record) => !skip.has(textIn(record, 'id') ?? '')), next };
    }
    const { at, records } = await eventPage(step, position);
    const fresh = records.filter((record) => !skip.has(idOf(record)) && isDue(record, at.end));
    return { fresh, next: await nextEvents(step, at, records) };
  }

  return {
    identity,
    async *read(from): AsyncGenerator<HistoryPage> {
      const begin: Position = { step: 0, start: START, page: 1, row: 0, end: isoOf(now()), seen: [] };
      let at = positionOf<Position>(from) ?? begin;
      for (;;) {
        const step = STEPS[at.step];
        if (step === undefined) return;
        const read: (record: unknown) => PastEvent = step === 'customers' ? dubCustomer : dubEvent;
        const { fresh, next } = await readPage(step, at);
        const { row: before, isByDay = false, end } = at;
        const items = fresh.map((record, index) => toItem(before + index + 1, record, read));
        const start = STEPS[at.step + 1] === 'customers' ? '' : START;
        const following: Position = { step: at.step + 1, start, page: 1, row: 0, end, seen: [], isByDay };
        at = { ...(next ?? following), row: before + fresh.length };
        yield { items, next: JSON.stringify(at) };
      }
    },
  };
}
