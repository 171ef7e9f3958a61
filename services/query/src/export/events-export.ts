import type { Catalog, KeyCaller } from '@waymark/catalog';
import { isTooLarge } from '@waymark/clickhouse';
import { EVENT_COLUMNS, type EventKind, type ExportEventsQuery, eventIdTime } from '@waymark/contract';
import { type BoundRequest, parseExport, type StoredWindow } from '@waymark/event-query';
import { chooseColumns, type ExportSource, type NamedColumn, type PagedList, slicesOf } from '@waymark/export';
import { bindEvents } from '../events/bind-events.js';
import type { EventPageRow } from '../events/event-text.js';
import { positionOf } from '../events/next-link.js';
import { createPageTexts, itemText, textsOfRows } from '../events/page-text.js';
import { createValuesReader } from '../events/prefetch.js';
import { readLargePage } from '../events/read-page.js';
import type { Reads } from '../reads.js';
import type { ReadRunners } from '../workspace-concurrency.js';
import { type AnyEvent, EVENT_COLUMN_SOURCES } from './event-columns.js';
import { reusedTexts } from './reused-texts.js';

export interface EventsExportDeps extends Pick<ReadRunners, 'isQuiet' | 'yieldToReads'> {
  readonly catalog: Catalog;
  readonly now: () => number;
}

/** Runs the reads of one part of an export, when it has its turn among the reads of other requests. */
export type ReadSlice = <T>(task: (reads: Reads) => Promise<T>) => Promise<T>;

/** An export of events whose request is valid. */
export interface EventsExport {
  readonly kind: EventKind;
  readonly columns: readonly NamedColumn<AnyEvent>[];
  readonly bound: BoundRequest;
  /**
   * Reads the events.
   *
   * @param startId id of the event after which the export begins; undefined to begin with the first one
   * @param readSlice runs each read
   */
  readonly sourceFrom: (startId: string | undefined, readSlice: ReadSlice) => ExportSource;
}

/** Rows that one statement reads. With 1,000, ClickHouse takes twice the CPU time for each row. */
const PAGE_ROWS = 4000;
/** The same while other requests read, so that these wait only a little longer. */
const PAGE_ROWS_BESIDE_READS = 500;
/** The same after a page that was too large: a hundred of the largest events have 5 MB. Events of this size may follow small ones. */
const PAGE_ROWS_LARGEST = 100;
/** Characters of a page, reached by 4,000 rows of 2,500. A page stays in memory until it is sent; each row is parsed just before. */
const PAGE_CHARS = 10_000_000;

/** Creates the function that checks an export of events and reads it, for responses, export jobs and export schedules. */
export function createEventsExport(deps: EventsExportDeps) {
  const { catalog, now, isQuiet, yieldToReads } = deps;
  const texts = createPageTexts(catalog);
  const linkCounters = createValuesReader(catalog.links.cachedCounters, catalog.links.counters);
  const customerTotals = createValuesReader(catalog.customers.cachedCounters, catalog.customers.counters);

  /**
   * Checks the request, and looks up the link, customer and folder that it names.
   *
   * @param nowMs the time that the range of the request is relative to
   * @param stored selects only events whose time of storage is in this window
   * @throws ApiError 403, 404 or 422
   */
  return async (
    requester: KeyCaller,
    query: ExportEventsQuery,
    nowMs: number,
    stored?: StoredWindow,
  ): Promise<EventsExport> => {
    const { workspace } = requester;
    const { event: kind = 'clicks' } = query;
    const columns = chooseColumns(query.columns, EVENT_COLUMNS[kind], EVENT_COLUMN_SOURCES);
    const parsed = parseExport(query, nowMs, { limit: PAGE_ROWS, after: undefined, stored });
    const { caller, bound } = await bindEvents(catalog, requester, parsed);

    const listFrom = (startId: string | undefined, readSlice: ReadSlice): PagedList<EventPageRow> => {
      const start = startId === undefined ? undefined : { timeMs: eventIdTime(startId) ?? 0, id: startId };
      const counters = { linkCounters: linkCounters(workspace.id), customerTotals: customerTotals(workspace.id) };
      const textsOf = reusedTexts((rows) => textsOfRows({ ...deps, ...texts, ...counters }, caller, kind, rows), now);
      return {
        pageChars: PAGE_CHARS,
        readPage(last, rowsMax) {
          const after = last === undefined ? start : positionOf(last);
          return readSlice(async (reads) => {
            const read = async (limit: number) => {
              const page = { ...bound, page: { ...bound.page, after, limit } };
              return { rows: await readLargePage(reads, page), limit };
            };
            const limit = Math.min(rowsMax, isQuiet() ? PAGE_ROWS : PAGE_ROWS_BESIDE_READS);
            return read(limit).catch((err: unknown) => {
              if (limit <= PAGE_ROWS_LARGEST || !isTooLarge(err)) throw err;
              return read(PAGE_ROWS_LARGEST);
            });
          });
        },
        async itemsOf(rows) {
          await yieldToReads();
          const shared = await textsOf(rows);
          return rows.flatMap((row) => itemText(caller, kind, row, shared) ?? []);
        },
        idOf: ([id]) => id,
      };
    };
    return { kind, columns, bound, sourceFrom: (startId, readSlice) => slicesOf(listFrom(startId, readSlice)) };
  };
}
