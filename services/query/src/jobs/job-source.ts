import { type Catalog, type ExportJobRecord, haveEventsExpired, type KeyCaller } from '@waymark/catalog';
import {
  CUSTOMER_COLUMNS,
  EXPORT_FILTER_SCHEMAS,
  type ExportQuery,
  fieldError,
  LINK_COLUMNS,
  mapErrorFields,
} from '@waymark/contract';
import { archiveOf, chooseColumns, type ExportSource, type NamedColumn } from '@waymark/export';
import { CUSTOMER_COLUMN_SOURCES, exportCustomers, exportLinks, LINK_COLUMN_SOURCES } from '@waymark/record-lists';
import { createAnalyticsTables } from '../export/analytics-tables.js';
import { createEventsExport } from '../export/events-export.js';
import type { ReadRunners } from '../workspace-concurrency.js';
import { bodyField, parseFilters } from './body-fields.js';

export interface JobSourceDeps extends Pick<ReadRunners, 'runJobSlice' | 'isQuiet' | 'yieldToReads'> {
  readonly catalog: Catalog;
  /** The domain that every workspace may use. */
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

/** The part of a job that the request determines. */
export type JobRequest = Pick<ExportJobRecord, 'resource' | 'format' | 'columns' | 'escapeFormulas' | 'filters'>;

/** A job of a list whose request is valid. */
export interface OpenedList {
  readonly type: 'list';
  /** The content of the file, such as `links` or `clicks`; its name begins with this. */
  readonly what: string;
  // biome-ignore lint/suspicious/noExplicitAny: each resource has items of its own
  readonly columns: readonly NamedColumn<any>[];
  /** @param after id of the last row that was written; undefined to begin with the first one @param signal cancels a read of events; another list ends before its next page */
  readonly sourceFrom: (after: string | undefined, signal: AbortSignal) => Promise<ExportSource>;
}

/** A job of analytics whose request is valid. */
export interface OpenedArchive {
  readonly type: 'archive';
  /** The name of the file begins with it. */
  readonly what: string;
  /** The bytes of the archive. @param onRows called with the number of rows of each table @param signal cancels the reads */
  readonly bytes: (onRows: (count: number) => void, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** A job whose request is valid. Nothing of it has been read yet. */
export type OpenedJob = OpenedList | OpenedArchive;

/** Who reads the rows of a job, for the turns of workspaces and the logs. */
function readerOf(workspaceId: string, signal: AbortSignal) {
  return { endpoint: 'POST /exports', workspaceId, requestId: 'job', signal };
}

/** Creates the function that checks a job and returns how to read it. */
export function createJobSources({ catalog, defaultDomain, now, runJobSlice, isQuiet, yieldToReads }: JobSourceDeps) {
  const openEvents = createEventsExport({ catalog, now, isQuiet, yieldToReads });
  const openTables = createAnalyticsTables(catalog);
  const deps = { catalog, defaultDomain };

  /**
   * Reads the slices of a list. Before each one it waits for the turn of the workspace, which only one export of the process has at a time,
   * and for a pause in other requests. It gives the turn back before it reads, because the limits of lists (`list-reads.ts`) may hold a page
   * for seconds, or refuse it, after which it is tried again in a second.
   */
  async function* afterTurn(source: ExportSource, workspaceId: string, signal: AbortSignal): ExportSource {
    const slices = source[Symbol.asyncIterator]();
    const reader = readerOf(workspaceId, signal);
    for (;;) {
      await runJobSlice(reader, async () => undefined);
      const next = await slices.next();
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** Opens a list of records. @param open checks the request and returns how to read them, without reading any yet */
  async function openRecords(
    what: string,
    columns: OpenedList['columns'],
    workspaceId: string,
    open: (after?: string) => Promise<ExportSource>,
  ): Promise<OpenedList> {
    await open();
    return {
      type: 'list',
      what,
      columns,
      sourceFrom: async (after, signal) => afterTurn(await open(after), workspaceId, signal),
    };
  }

  /**
   * Checks a job with the permissions of its key, and looks up the records that its filters name.
   *
   * @param createdMs when the job was created; the export leaves out what was created later
   * @throws ApiError 403, 404 or 422, which names fields by their path in the body of the request
   */
  return (
    caller: KeyCaller,
    { resource, format, columns, escapeFormulas, filters }: JobRequest,
    createdMs: number,
  ): Promise<OpenedJob> =>
    mapErrorFields(bodyField, async () => {
      const workspaceId = caller.workspace.id;
      const shared: ExportQuery = { columns: columns?.join(',') };
      switch (resource) {
        case 'events': {
          const query = { ...shared, ...(await parseFilters(EXPORT_FILTER_SCHEMAS.events, filters)) };
          const opened = await openEvents(caller, query, createdMs);
          return {
            type: 'list',
            what: opened.kind,
            columns: opened.columns,
            async sourceFrom(after, signal) {
              const reader = readerOf(workspaceId, signal);
              return opened.sourceFrom(after, (task) => runJobSlice(reader, task));
            },
          };
        }
        case 'links': {
          const query = await parseFilters(EXPORT_FILTER_SCHEMAS.links, filters);
          const open = (after?: string) => exportLinks(deps, caller, query, { after, createdUntilMs: createdMs });
          const chosen = chooseColumns(shared.columns, LINK_COLUMNS, LINK_COLUMN_SOURCES);
          return openRecords(resource, chosen, workspaceId, open);
        }
        case 'customers': {
          const query = await parseFilters(EXPORT_FILTER_SCHEMAS.customers, filters);
          const open = (after?: string) =>
            exportCustomers(catalog, caller, query, { after, createdUntilMs: createdMs });
          const chosen = chooseColumns(shared.columns, CUSTOMER_COLUMNS, CUSTOMER_COLUMN_SOURCES);
          return openRecords(resource, chosen, workspaceId, open);
        }
        case 'analytics': {
          if (format !== 'csv') throw fieldError('invalid_value', 'format', 'must be csv for analytics');
          if (columns !== null) throw fieldError('invalid_value', 'columns', 'cannot be chosen for analytics');
          const query = await parseFilters(EXPORT_FILTER_SCHEMAS.analytics, filters);
          const tables = await openTables(caller, query, createdMs);
          return {
            type: 'archive',
            what: resource,
            bytes(onRows, signal) {
              const eventsExpire = haveEventsExpired(caller.workspace);
              const reader = { ...readerOf(workspaceId, signal), eventsExpire };
              async function* counted() {
                for await (const table of tables((task) => runJobSlice(reader, task))) {
                  onRows(table.rows.length);
                  yield table;
                }
              }
              return archiveOf({ tables: counted(), escapesFormulas: escapeFormulas, nowMs: createdMs });
            },
          };
        }
      }
    });
}
export type OpenJob = ReturnType<typeof createJobSources>;
