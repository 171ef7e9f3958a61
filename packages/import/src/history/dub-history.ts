import { listIn, textIn } from '../apis/pages.js';
import type { SourceClient } from '../apis/source-client.js';
import { isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import { RowError } from '../model/source-link.js';
import { timeOf } from '../model/times.js';
import { dubCustomer, dubEvent } from './dub-events.js';
import { positionOf, toItem } from './history-items.js';
import type { HistoryPage, HistorySource, PastEvent } from './past-event.js';

/** Before the first click that dub can have. */
const START = '2020-01-01T00:00:00.000Z';
const EVENTS_PER_PAGE = 1000;
const CUSTOMERS_PER_PAGE = 100;
/** Clicks come first, because leads refer to them, and customers last, because the first lead of a customer decides its attribution. */
const STEPS = ['clicks', 'leads', 'sales', 'customers'] as const;

/** Where to continue, stored as JSON after each batch. */
interface Position {
  /** Index in {@link STEPS}. */
  readonly step: number;
  /** For events, the ISO time from which the page starts; for customers, the id of the last one that was read, empty before the first. */
  readonly start: string;
  readonly page: number;
  /** Number of records that were read so far. */
  readonly row: number;
  /** ISO time of the start of the import; later events are left to a later import. */
  readonly end: string;
  /** Ids of the events at the time `start` that were read already. */
  readonly seen: readonly string[];
}

function idOf(record: unknown): string | undefined {
  return textIn(record, 'eventId') ?? textIn(isObject(record) ? record.click : undefined, 'id');
}

function timestampOf(record: unknown): string | undefined {
  try {
    return timeOf('timestamp', isObject(record) ? record.timestamp : undefined) ?? undefined;
  } catch (err) {
    if (err instanceof RowError) return undefined;
    throw err;
  }
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
 * Reads the history of an account of dub, events in the order of time. Each page starts at the time of the last event of the page before,
 * so that no event is skipped when others are added or removed while pages are read. An event that is on two pages is stored once.
 */
export function dubHistory({ client, address, identity, now }: DubHistoryOptions): HistorySource {
  async function eventPage(event: string, { start, page, end }: Position): Promise<readonly unknown[]> {
    const period = `start=${encodeURIComponent(start)}&end=${encodeURIComponent(end)}`;
    const order = `sortBy=timestamp&sortOrder=asc&limit=${EVENTS_PER_PAGE}&page=${page}`;
    return listIn(await client.getJson(`${address}/events?event=${event}&${period}&${order}`));
  }

  async function customerPage({ start: after }: Position): Promise<readonly unknown[]> {
    const url = `${address}/customers?pageSize=${CUSTOMERS_PER_PAGE}&includeExpandedFields=true&sortBy=createdAt&sortOrder=asc`;
    return listIn(await client.getJson(after === '' ? url : `${url}&startingAfter=${encodeURIComponent(after)}`));
  }

  /** The position of the next page of events; undefined after the last page. */
  function nextEvents(at: Position, records: readonly unknown[]): Position | undefined {
    if (records.length < EVENTS_PER_PAGE) return undefined;
    const last = timestampOf(records.at(-1));
    const seen = records.filter((record) => timestampOf(record) === last).map((record) => idOf(record) ?? '');
    // All events of the page have one time, so the next page cannot start at a later one: continue by page number.
    if (last === undefined || last <= at.start) return { ...at, page: at.page + 1, seen: [...at.seen, ...seen] };
    return { ...at, start: last, page: 1, seen };
  }

  function nextCustomers(at: Position, records: readonly unknown[]): Position | undefined {
    if (records.length === 0) return undefined;
    const last = textIn(records.at(-1), 'id');
    if (last === undefined || last === at.start)
      throw new ImportError('the last customer of a page has no id of its own');
    return { ...at, start: last };
  }

  return {
    identity,
    async *read(from): AsyncGenerator<HistoryPage> {
      const end = new Date(now()).toISOString();
      let at = positionOf<Position>(from) ?? { step: 0, start: START, page: 1, row: 0, end, seen: [] };
      for (;;) {
        const step = STEPS[at.step];
        if (step === undefined) return;
        const isCustomers = step === 'customers';
        const records = isCustomers ? await customerPage(at) : await eventPage(step, at);
        const read: (record: unknown) => PastEvent = isCustomers ? dubCustomer : dubEvent;
        const seen = new Set(at.seen);
        const fresh = records.filter((record) => !seen.has(idOf(record) ?? ''));
        const { row: before } = at;
        const items = fresh.map((record, index) => toItem(before + index + 1, record, read));
        const start = STEPS[at.step + 1] === 'customers' ? '' : START;
        const following = { ...at, step: at.step + 1, page: 1, start, seen: [] };
        const next = isCustomers ? nextCustomers(at, records) : nextEvents(at, records);
        at = { ...(next ?? following), row: before + fresh.length };
        yield { items, next: JSON.stringify(at) };
      }
    },
  };
}
