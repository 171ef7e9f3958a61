import {
  ERASURE_MODES,
  ERASURE_STATUSES,
  EXPORT_FORMATS,
  EXPORT_FREQUENCIES,
  EXPORT_RESOURCES,
  EXPORT_STATUSES,
  exportedWindowSchema,
  exportFiltersSchema,
  IMPORT_CONFLICTS,
  IMPORT_FILE_FORMATS,
  IMPORT_HISTORIES,
  IMPORT_SOURCES,
  IMPORT_STATUSES,
  SCHEDULED_RESOURCES,
} from '@waymark/contract';
import { z } from 'zod';
import { common, recordSchema, text, time } from './record-fields.js';

/** Records of work in the background. `record-schemas.ts` has the others, and `record-fields.ts` the form of ids and times. */

/** An export job. */
export const exportJobRecordSchema = recordSchema({
  ...common,
  resource: z.enum(EXPORT_RESOURCES),
  format: z.enum(EXPORT_FORMATS),
  /** Names of the columns; null = the default columns. */
  columns: z.array(z.string()).nullable(),
  escapeFormulas: z.boolean(),
  filters: exportFiltersSchema,
  /** Id of the API key that has created the job; the job reads what this key may see. */
  keyId: z.string(),
  /** What this key may not see. A key that may see less must not read the file. */
  hidesFolders: z.boolean(),
  hidesPasswords: z.boolean(),
  status: z.enum(EXPORT_STATUSES),
  /** Number of the latest attempt, from 1 on; the files are in its directory. */
  attempt: z.int(),
  /** Number of attempts that do not count: see `JobRecord` of packages/jobs. */
  interruptions: z.int().default(0),
  rows: z.int(),
  bytes: z.int(),
  /** Name of the file; null until it is complete. */
  file: text,
  error: text,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  expiresAt: time.nullable(),
  /** Whether the export has ended and this has not been reported to webhooks yet. */
  isUnreported: z.boolean().default(false),
});
export type ExportJobRecord = z.infer<typeof exportJobRecordSchema>;

/** A report of an import. */
const importReportSchema = recordSchema({ name: z.string(), rows: z.int(), bytes: z.int() });
export type ImportReportFile = z.infer<typeof importReportSchema>;

/** An import of links. The credential of its source is in a separate file, not in the record, so that it can be erased. */
export const importJobRecordSchema = recordSchema({
  ...common,
  source: z.enum(IMPORT_SOURCES),
  /** Format of the uploaded file; null for an import from an API. */
  format: z.enum(IMPORT_FILE_FORMATS).nullable(),
  address: text,
  sourceWorkspace: text,
  /** Domain mappings as sent: `old=new`, or `new` for all other domains. */
  domains: z.array(z.string()),
  dryRun: z.boolean(),
  tags: z.array(z.string()),
  history: z.enum(IMPORT_HISTORIES),
  onConflict: z.enum(IMPORT_CONFLICTS),
  timezone: text,
  /** Id of the API key that has created the import; the import has the permissions of this key. */
  keyId: z.string(),
  /** What this key may not see. A key that may see less must not see the import. */
  hidesFolders: z.boolean(),
  hidesPasswords: z.boolean(),
  /** Name of the directory with its files. */
  directory: z.string(),
  /** Bytes of the uploaded file; null for an API. */
  bytes: z.int().nullable(),
  status: z.enum(IMPORT_STATUSES),
  /** Number of the latest attempt, from 1 on. */
  attempt: z.int(),
  /** Number of attempts that do not count: see `JobRecord` of packages/jobs. */
  interruptions: z.int().default(0),
  rows: z.int(),
  created: z.int(),
  updated: z.int(),
  skipped: z.int(),
  rejected: z.int(),
  /** Number of values that Waymark has no field for; their links are created all the same. */
  lost: z.int(),
  bytesRead: z.int(),
  /** Reports of an import that has ended; empty once they are removed. */
  files: z.array(importReportSchema),
  error: text,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  expiresAt: time.nullable(),
  /** Whether the import has ended and this has not been reported to webhooks yet. */
  isUnreported: z.boolean(),
});
export type ImportJobRecord = z.infer<typeof importJobRecordSchema>;

/** A file of a window that has been uploaded to the storage. */
const scheduledFileSchema = recordSchema({ name: z.string(), rows: z.int(), bytes: z.int(), sha256: z.string() });
export type ScheduledFile = z.infer<typeof scheduledFileSchema>;

/** An export schedule. */
export const exportScheduleRecordSchema = recordSchema({
  ...common,
  resource: z.enum(SCHEDULED_RESOURCES),
  frequency: z.enum(EXPORT_FREQUENCIES),
  format: z.enum(EXPORT_FORMATS),
  /** Names of the columns; null = the default columns. */
  columns: z.array(z.string()).nullable(),
  escapeFormulas: z.boolean(),
  rowsPerFile: z.int(),
  filters: exportFiltersSchema,
  /** Id of the API key that has saved the schedule last; its exports read what this key may see. */
  keyId: z.string(),
  /** What this key may not see. */
  hidesFolders: z.boolean(),
  hidesPasswords: z.boolean(),
  destination: recordSchema({
    type: z.literal('s3'),
    endpoint: text,
    region: z.string(),
    bucket: z.string(),
    /** Without a slash at its beginning or end; may be empty. */
    prefix: z.string(),
    forcePathStyle: z.boolean(),
    accessKeyHint: z.string(),
  }),
  /** Access key id and secret as JSON, encrypted with the instance key. */
  encryptedCredentials: z.string(),
  /** Start of the next window; everything before it has been exported. */
  exportedUntil: time,
  /** Progress of the next window; null = its export has not begun. */
  run: recordSchema({
    end: time,
    /** The files that have certainly been uploaded. */
    files: z.array(scheduledFileSchema),
    /** Id of the last event in these files. */
    lastId: text,
    /** Text of the manifest once all files have been uploaded; then only the manifest is left to upload. */
    manifest: text,
  }).nullable(),
  /** Number of the latest attempt. What an earlier one still does has no effect. */
  attempt: z.int(),
  lastWindow: recordSchema({
    ...exportedWindowSchema.shape,
    window: recordSchema(exportedWindowSchema.shape.window.shape),
  }).nullable(),
  error: text,
  /** Number of consecutive attempts that the storage has refused. */
  refusals: z.int(),
  /** Number of consecutive attempts that have failed, for any reason. */
  failures: z.int(),
  retryAt: time.nullable(),
  disabledAt: time.nullable(),
  disabledReason: text,
  /**
   * Whether the schedule comes from a backup and was not enabled since. The windows from `exportedUntil` on may then have been exported by the
   * installation that the backup was made of. Absent in records of earlier releases.
   */
  isRestored: z.boolean().optional(),
  /** The outcome of a window that has not been reported to webhooks yet. */
  unreported: z.enum(['completed', 'failed']).nullable(),
});
export type ExportScheduleRecord = z.infer<typeof exportScheduleRecordSchema>;

/** The erasure of a person. It contains no text of the person. */
export const erasureRecordSchema = recordSchema({
  ...common,
  mode: z.enum(ERASURE_MODES),
  status: z.enum(ERASURE_STATUSES),
  /** Keyed hash of the external id (see `subject-hash.ts`); null when the customer was named by its id and has no record. */
  subjectHash: text,
  /** Ids of the customers, present and former, that are this person. */
  customerIds: z.array(z.string()),
  /** Ids of the clicks of these customers that have been found. */
  clickIds: z.array(z.string()),
  /** Id of the batch (`ErasureBatch`); null before it begins. */
  batch: text,
  /** How many of the ids, counted from the first, the running batch has. The others were found after its begin; undefined = it has all. */
  inBatch: recordSchema({ customers: z.int(), clicks: z.int() }).optional(),
  /** How far a batch has taken its deleted events out of the counters, in one of its erasures; undefined = it has not begun to. */
  subtraction: recordSchema({
    /** Id of the batch. */
    batch: z.string(),
    isDone: z.boolean(),
    /** `groups` of its `Subtraction`. */
    groups: z.array(z.string()),
    /** How many inserts the writers of each queue shard had started before it began. */
    inserts: z.array(z.int()),
  }).optional(),
  events: z.int(),
  clicks: z.int(),
  startedAt: time.nullable(),
  erasedAt: time.nullable(),
  /** When it was continued after it had ended, while it is open; undefined also in records of earlier releases. */
  continuedAt: time.optional(),
});
export type ErasureRecord = z.infer<typeof erasureRecordSchema>;
