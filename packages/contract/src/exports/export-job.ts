import { z } from 'zod';
import { analyticsEvent } from '../events/analytics-query.js';
import { customerFilterShape, expandedShape } from '../events/customer.js';
import { eventFilterShape, eventListShape } from '../events/events-query.js';
import { linkFilterShape } from '../links/link-queries.js';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { LIST_CHARS_MAX, queryList } from '../values/query-values.js';
import { EXPORT_FORMATS } from './export-parameters.js';

/** What an export job can export (docs/reference/exports.md): lists, and groupings of analytics as an archive of CSV files. */
export const EXPORT_RESOURCES = ['events', 'links', 'customers', 'analytics'] as const;
export type ExportResource = (typeof EXPORT_RESOURCES)[number];

/**
 * An export with the status `queued` or `processing` has not ended. An `expired` one was completed, and its file has been removed since.
 */
export const EXPORT_STATUSES = ['queued', 'processing', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

/** Maximum number of export jobs of a workspace that have not ended. */
export const UNFINISHED_EXPORTS_MAX = 10;

/** The schemas of `filters` by resource: the parameters of `GET /<resource>/export`, except for those that are fields of the job. */
export const EXPORT_FILTER_SCHEMAS = {
  events: closedQuery({ ...eventListShape, ...eventFilterShape }),
  links: closedQuery({ ...linkFilterShape, ...sortShape(['createdAt'], 'desc') }),
  customers: closedQuery({ ...customerFilterShape, ...expandedShape, ...sortShape(['createdAt'], 'desc') }),
  analytics: closedQuery({ event: analyticsEvent, ...eventFilterShape, groupBy: queryList }),
} as const;

const LIST_ITEMS_MAX = 1000;
const text = z.string().max(LIST_CHARS_MAX);

/** The values of filters as the caller sent them, by the name of the parameter. */
export const exportFiltersSchema = z.record(
  z.string(),
  z.union([text, z.boolean(), z.array(text).max(LIST_ITEMS_MAX)]),
);

/** Maximum length of the filters of a job or schedule as a query string, in which a letter that is not ASCII counts as six or nine characters. */
export const FILTERS_QUERY_CHARS_MAX = 100_000;

/** The length of filters in the URL of a list. */
function queryChars(filters: z.infer<typeof exportFiltersSchema>): number {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) query.append(name, String(value));
  return query.toString().length;
}

/**
 * {@link exportFiltersSchema} for new filters, with a limit on all of them together: they are stored in the record, and sent to ClickHouse in
 * URLs. Filters that were stored before the limit may be longer.
 */
export const newExportFiltersSchema = exportFiltersSchema.check(({ value, issues }) => {
  if (queryChars(value) <= FILTERS_QUERY_CHARS_MAX) return;
  const message = `must together have at most ${FILTERS_QUERY_CHARS_MAX} characters as a query string`;
  const maximum = FILTERS_QUERY_CHARS_MAX;
  issues.push({ code: 'too_big', origin: 'string', maximum, inclusive: true, input: value, message });
});

/** Body of `POST /exports`. */
export const createExportBodySchema = z.strictObject({
  resource: z.enum(EXPORT_RESOURCES).describe('What is exported.'),
  format: z.enum(EXPORT_FORMATS).optional().describe('`csv` by default; the only one for `analytics`.'),
  columns: z
    .array(z.string().min(1).max(100))
    .min(1)
    .max(100)
    .optional()
    .describe('Names of the columns, in this order, as in `GET /<resource>/export`.'),
  escapeFormulas: z
    .boolean()
    .optional()
    .describe("Puts `'` before texts that spreadsheets would run as formulas; only in CSV. True by default."),
  filters: newExportFiltersSchema
    .optional()
    .describe('The other parameters of `GET /<resource>/export`, such as `interval`, `query` or `search`.'),
});

/** The export object of every response. */
export const exportJobSchema = z.strictObject({
  id: z.string().describe('Id of the export.'),
  resource: z.enum(EXPORT_RESOURCES).describe('What is exported.'),
  format: z.enum(EXPORT_FORMATS).describe('Format of the file.'),
  columns: z.array(z.string()).nullable().describe('Columns of the file; `null` for the default ones.'),
  escapeFormulas: z.boolean().describe("Whether texts that spreadsheets would run as formulas begin with `'`."),
  filters: exportFiltersSchema.describe('Parameters of the list, as they were sent.'),
  status: z
    .enum(EXPORT_STATUSES)
    .describe('An export that is `queued` or `processing` has not ended. The file of an `expired` one is removed.'),
  rows: z.number().describe('Number of rows that were written so far.'),
  bytes: z.number().describe('Number of bytes that were written so far.'),
  files: z
    .array(
      z.strictObject({
        name: z.string().describe('Name of the file.'),
        bytes: z.number().describe('Size of the file.'),
        url: z.string().describe('Where to download the file, with a key of the workspace.'),
      }),
    )
    .describe('The file; empty until the export is completed, and when it has expired.'),
  error: z.string().nullable().describe('Why the export failed, or why its file was removed early.'),
  createdAt: z.string().describe('When the export was requested.'),
  startedAt: z.string().nullable().describe('When the export began.'),
  finishedAt: z.string().nullable().describe('When the export ended.'),
  expiresAt: z
    .string()
    .nullable()
    .describe('When the file is or was removed at the latest: earlier if files take too much room or are too many.'),
});
export type ExportJob = z.infer<typeof exportJobSchema>;

/** Query of `GET /exports`, newest first. */
export const listExportsQuerySchema = closedQuery(pageShape());
