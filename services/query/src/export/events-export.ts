import type { Catalog } from '@waymark/catalog';
import { EVENT_COLUMNS, type EventKind, type ExportEventsQuery } from '@waymark/contract';
import { type BoundRequest, type Position, parseExport, type StoredWindow } from '@waymark/event-query';
import { chooseColumns, type ExportSource, type NamedColumn, type PagedList, slicesOf } from '@waymark/export';
import type { LinkCaller } from '@waymark/record-lists';
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

/** Runs the reads of one slice in turn with those of other requests. */
export type ReadSlice = <T>(task: (reads: Reads) => Promise<T>) => Promise<T>;

/** An export of events whose request is valid. */
export interface EventsExport {
  readonly kind: EventKind;
  readonly columns: readonly NamedColumn<AnyEvent>[];
  readonly bound: BoundRequest;
  /** @param start the event after which the export begins; undefined for all events */
  readonly sourceFrom: (start: Position | undefined, readSlice: ReadSlice) => ExportSource;
}

/** Rows that a statement reads. With a thousand, ClickHouse takes twice the CPU time for a row. */
const PAGE_ROWS = 4000;
/** While others read: a page of theirs waits little longer. */
const PAGE_ROWS_BESIDE_READS = 500;
/** Limit on the characters of a page, about those of so many rows of the usual size. They are in memory until they are sent. */
const PAGE_CHARS = 10_000_000;

/** How exports of events are read, for responses and for jobs. */
export function createEventsExport(deps: EventsExportDeps) {
  const { catalog, now, isQuiet, yieldToReads } = deps;
  const texts = createPageTexts(catalog);
  const linkCounters = createValuesReader(catalog.links.cachedCounters, catalog.links.counters);
  const customerTotals = createValuesReader(catalog.customers.cachedCounters, catalog.customers.counters);

  /**
   * Checks the request and looks up what it refers to.
   *
   * @param nowMs the time to which the range of the request relates
   * @param stored only events that were stored in this time
   * @throws ApiError 403, 404 or 422
   */
  return async (
    requester: LinkCaller,
    query: ExportEventsQuery,
    nowMs: number,
    stored?: StoredWindow,
  ): Promise<EventsExport> => {
    const { workspace } = requester;
    const { event: kind = 'clicks' } = query;
    const columns = chooseColumns(query.columns, EVENT_COLUMNS[kind], EVENT_COLUMN_SOURCES);
    const parsed = parseExport(query, nowMs, { limit: PAGE_ROWS, after: undefined, stored });
    const { caller, bound } = await bindEvents(catalog, requester, parsed);

    const listFrom = (start: Position | undefined, readSlice: ReadSlice): PagedList<EventPageRow> => {
      const counters = { linkCounters: linkCounters(workspace.id), customerTotals: customerTotals(workspace.id) };
      const textsOf = reusedTexts((rows) => textsOfRows({ ...deps, ...texts, ...counters }, caller, kind, rows), now);
      return {
        pageChars: PAGE_CHARS,
        readPage(last, rowsMax) {
          const after = last === undefined ? start : positionOf(last);
          return readSlice(async (reads) => {
            const limit = Math.min(rowsMax, isQuiet() ? PAGE_ROWS : PAGE_ROWS_BESIDE_READS);
            const page = { ...bound, page: { ...bound.page, after, limit } };
            return { rows: await readLargePage(reads, page), limit };
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
    return { kind, columns, bound, sourceFrom: (start, readSlice) => slicesOf(listFrom(start, readSlice)) };
  };
}
