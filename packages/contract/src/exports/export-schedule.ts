import { z } from 'zod';
import { EVENT_KINDS, eventAttributeShape } from '../events/events-query.js';
import { closedQuery } from '../values/closed-query.js';
import { formatCheck } from '../values/format-check.js';
import { pageShape } from '../values/paging.js';
import { serviceAddress } from '../values/parse-url.js';
import { queryEnum } from '../values/query-values.js';
import { createExportBodySchema, exportFiltersSchema, newExportFiltersSchema } from './export-job.js';
import { EXPORT_FORMATS } from './export-parameters.js';

/** How often a schedule exports. Hours, days and weeks begin in UTC, weeks on Monday. */
export const EXPORT_FREQUENCIES = ['hourly', 'daily', 'weekly'] as const;
export type ExportFrequency = (typeof EXPORT_FREQUENCIES)[number];

/** The resources that can be exported on a schedule. */
export const SCHEDULED_RESOURCES = ['events'] as const;

/** Maximum number of schedules of a workspace. */
export const EXPORT_SCHEDULES_MAX = 10;

/** Limit on the rows of a file of a schedule. */
export const ROWS_PER_FILE_MAX = 1_000_000;

/** The schema of `filters` of a schedule: the filters of `GET /events`, without parameters for a range or an order. */
export const scheduleFiltersSchema = closedQuery({ event: queryEnum(EVENT_KINDS), ...eventAttributeShape });

const ENDPOINT_CHARS_MAX = 500;
const PREFIX_CHARS_MAX = 500;
const TIME_CHARS_MAX = 40;

/** Whether no part between slashes is empty, `.` or `..`. */
function isPrefix(text: string): boolean {
  return text === '' || text.split('/').every((part) => !['', '.', '..'].includes(part));
}

const region = z
  .string()
  .max(50)
  .regex(/^[a-z0-9-]+$/, { error: 'must have lower-case letters, digits and hyphens only' })
  .meta({ examples: ['eu-central-1'] });
const bucket = z
  .string()
  .min(3)
  .max(63)
  .regex(/^[a-z0-9][a-z0-9.-]+[a-z0-9]$/, { error: 'must be the name of a bucket' })
  .meta({ examples: ['warehouse'] });
const isTime = (text: string) => z.iso.datetime().safeParse(text).success;

/** A key or secret; printable ASCII, because it is sent in headers. */
const credential = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .regex(/^[\x21-\x7e]+$/, { error: 'must have printable ASCII characters only' });

/** The bucket to which a schedule exports, in S3 or a storage with the same interface, and the credentials for it. */
const destinationSchema = z.strictObject({
  type: z.literal('s3').describe('The kind of storage: S3, or one with the same interface.'),
  endpoint: serviceAddress(ENDPOINT_CHARS_MAX)
    .optional()
    .describe('Address of a storage other than AWS, such as `https://storage.example.com`.'),
  region: region.describe('Region of the bucket.'),
  bucket: bucket.describe('Name of the bucket.'),
  prefix: z
    .string()
    .max(PREFIX_CHARS_MAX)
    .regex(/^[\w!.*'()/=-]*$/, { error: "may have letters, digits and !-_.*'()/= only" })
    .check(formatCheck(isPrefix, 'must not begin or end with a slash, nor have a part that is empty, . or ..'))
    .optional()
    .describe('Folder in the bucket; none by default.'),
  accessKeyId: credential(200).describe('Id of the access key.'),
  secretAccessKey: credential(500).describe('Secret of the access key; stored encrypted, and never shown.'),
  forcePathStyle: z
    .boolean()
    .optional()
    .describe('Whether the bucket is in the path instead of the host. True by default when there is an `endpoint`.'),
});
export type ExportDestination = z.infer<typeof destinationSchema>;

const { format, escapeFormulas } = createExportBodySchema.shape;
const { columns } = createExportBodySchema.shape;
const since = z
  .string()
  .max(TIME_CHARS_MAX, { abort: true })
  .check(formatCheck(isTime, 'must be a time in UTC such as 2026-11-25T10:00:00Z'))
  .meta({ format: 'date-time', examples: ['2026-03-04T12:00:00Z'] })
  .optional();
const scheduleShape = {
  frequency: z
    .enum(EXPORT_FREQUENCIES)
    .describe('How often events are exported: each hour, day, or week from Monday on, in UTC.'),
  format,
  rowsPerFile: z
    .int()
    .min(1000)
    .max(ROWS_PER_FILE_MAX)
    .optional()
    .describe(
      'A window with more rows has several files. After a hundred, further ones have a hundredth of the rows before them, at most 1,000,000. 200,000 by default.',
    ),
  escapeFormulas,
  filters: newExportFiltersSchema
    .optional()
    .describe('`event` and the filters of `GET /events`, without range and order.'),
};

/** Body of `POST /exports/schedules`. */
export const createExportScheduleBodySchema = z.strictObject({
  resource: z.enum(SCHEDULED_RESOURCES).describe('What is exported.'),
  ...scheduleShape,
  columns,
  destination: destinationSchema.describe('Where the files are written.'),
  since: since.describe(
    'Exports what was stored from the hour, day or week of this time on; from the current one by default.',
  ),
});
export type CreateExportScheduleBody = z.infer<typeof createExportScheduleBodySchema>;

/** Body of `PATCH /exports/schedules/{id}`; absent fields stay unchanged. A new destination must be complete, with its credentials. */
export const updateExportScheduleBodySchema = z.strictObject({
  ...scheduleShape,
  frequency: scheduleShape.frequency.optional(),
  columns: columns
    .unwrap()
    .nullable()
    .optional()
    .describe('Names of the columns, in this order; `null` for the default ones.'),
  destination: destinationSchema.optional().describe('Where the files are written; complete, with its credentials.'),
  since: since.describe(
    'Continues with the hour, day or week of this time; windows that were exported before are exported again, and their objects overwritten.',
  ),
  disabled: z.boolean().optional().describe('`false` enables a schedule that was disabled, `true` disables it.'),
});
export type UpdateExportScheduleBody = z.infer<typeof updateExportScheduleBodySchema>;

/** The window of an export: events that were stored at `start` or later, and before `end`. */
const exportWindowSchema = z.strictObject({
  start: z.string().describe('Beginning of the window.'),
  end: z.string().describe('End of the window; events that were stored at this time are in the next one.'),
});
export type ExportWindow = z.infer<typeof exportWindowSchema>;

/** A file of a window, as an object in the bucket. */
const exportedFileSchema = z.strictObject({
  key: z.string(),
  rows: z.number(),
  bytes: z.number(),
  /** In hexadecimal digits. */
  sha256: z.string(),
});

/** The object `manifest.json` of a window. It is written last, after all the files that it names. */
const exportManifestSchema = z.strictObject({
  version: z.literal(1),
  scheduleId: z.string(),
  resource: z.enum(SCHEDULED_RESOURCES),
  event: z.enum(EVENT_KINDS),
  format: z.enum(EXPORT_FORMATS),
  columns: z.array(z.string()).nullable(),
  filters: exportFiltersSchema,
  window: exportWindowSchema,
  rows: z.number(),
  bytes: z.number(),
  files: z.array(exportedFileSchema),
});
export type ExportManifest = z.infer<typeof exportManifestSchema>;

/** A window that has been exported: its manifest is in the bucket. */
export const exportedWindowSchema = z.strictObject({
  window: exportWindowSchema.describe('The exported window.'),
  rows: z.number().describe('Number of exported events.'),
  bytes: z.number().describe('Size of all files.'),
  files: z.number().describe('Number of files.'),
  manifest: z.string().describe('Key of the manifest in the bucket.'),
  finishedAt: z.string().describe('When the window was complete.'),
});

/** The schedule object of every response (docs/reference/exports.md). */
export const exportScheduleSchema = z.strictObject({
  id: z.string().describe('Id of the schedule.'),
  resource: z.enum(SCHEDULED_RESOURCES).describe('What is exported.'),
  frequency: z.enum(EXPORT_FREQUENCIES).describe('How often events are exported.'),
  format: z.enum(EXPORT_FORMATS).describe('Format of the files.'),
  columns: z.array(z.string()).nullable().describe('Columns of the files; `null` for the default ones.'),
  escapeFormulas: z.boolean().describe("Whether texts that spreadsheets would run as formulas begin with `'`."),
  rowsPerFile: z.number().describe('Most rows of each of the first hundred files of a window.'),
  filters: exportFiltersSchema.describe('Filters of the events, as they were sent.'),
  destination: z
    .strictObject({
      type: z.literal('s3').describe('The kind of storage.'),
      endpoint: z.string().nullable().describe('Address of the storage; `null` for AWS.'),
      region: z.string().describe('Region of the bucket.'),
      bucket: z.string().describe('Name of the bucket.'),
      prefix: z.string().describe('Folder in the bucket.'),
      forcePathStyle: z.boolean().describe('Whether the bucket is in the path instead of the host.'),
      accessKeyHint: z
        .string()
        .describe('`…` and the last four characters of the access key id; `…` alone for one of fewer than eight.'),
    })
    .describe('Where the files are written.'),
  nextWindow: exportWindowSchema.describe('The window that is exported next, after its end.'),
  lastWindow: exportedWindowSchema.nullable().describe('The window that was exported last.'),
  error: z.string().nullable().describe('Why the latest attempt failed; `null` after a success.'),
  refusals: z.number().describe('Number of consecutive attempts that the storage has refused.'),
  retryAt: z.string().nullable().describe('When the next attempt is made after a failure.'),
  disabledAt: z.string().nullable().describe('Since when the schedule is disabled.'),
  disabledReason: z.string().nullable().describe('Why the schedule is disabled.'),
  createdAt: z.string().describe('When the schedule was created.'),
  updatedAt: z.string().describe('When the schedule was last changed.'),
});
export type ExportSchedule = z.infer<typeof exportScheduleSchema>;

/** Query of `GET /exports/schedules`, newest first. */
export const listExportSchedulesQuerySchema = closedQuery(pageShape());
