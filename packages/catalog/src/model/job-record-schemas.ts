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
import { common, text, time } from './record-fields.js';

/** Records of work that runs in the background; see `record-schemas.ts`. */

/** An export that is made in the background. */
export const exportJobRecordSchema = z.strictObject({
  ...common,
  resource: z.enum(EXPORT_RESOURCES),
  format: z.enum(EXPORT_FORMATS),
  /** Null = the default ones. */
  columns: z.array(z.string()).nullable(),
  escapeFormulas: z.boolean(),
  filters: exportFiltersSchema,
  /** The API key whose access the job has. */
  keyId: z.string(),
  /** What the creating key must not see. A key with fewer rights may not read the file. */
  hidesFolders: z.boolean(),
  hidesPasswords: z.boolean(),
  status: z.enum(EXPORT_STATUSES),
  /** Number of the latest run, from 1 on; its directory has the files. */
  attempt: z.int(),
  rows: z.int(),
  bytes: z.int(),
  /** Name of the file, once it is complete. */
  file: text,
  error: text,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  expiresAt: time.nullable(),
  /** Whether the webhooks of the workspace have not been sent the end yet. */
  isUnreported: z.boolean().default(false),
});
export type ExportJobRecord = z.infer<typeof exportJobRecordSchema>;

/** A file that an import has left. */
const importReportSchema = z.strictObject({ name: z.string(), rows: z.int(), bytes: z.int() });
export type ImportReportFile = z.infer<typeof importReportSchema>;

/** An import of links. The credentials of its source are in a file of its own, not in the record, so that they can be erased. */
export const importJobRecordSchema = z.strictObject({
  ...common,
  source: z.enum(IMPORT_SOURCES),
  /** Null = the API of the source. */
  format: z.enum(IMPORT_FILE_FORMATS).nullable(),
  address: text,
  sourceWorkspace: text,
  domains: z.array(z.string()),
  dryRun: z.boolean(),
  tags: z.array(z.string()),
  history: z.enum(IMPORT_HISTORIES),
  onConflict: z.enum(IMPORT_CONFLICTS),
  timezone: text,
  /** The API key whose access the import has. */
  keyId: z.string(),
  /** What the creating key must not see. A key with fewer rights may not read the import. */
  hidesFolders: z.boolean(),
  hidesPasswords: z.boolean(),
  /** Name of the directory that has its files. */
  directory: z.string(),
  /** Size of the file that was sent; null for an API. */
  bytes: z.int().nullable(),
  status: z.enum(IMPORT_STATUSES),
  /** Number of the latest run, from 1 on. */
  attempt: z.int(),
  ...{ rows: z.int(), created: z.int(), updated: z.int(), skipped: z.int(), rejected: z.int(), lost: z.int() },
  bytesRead: z.int(),
  /** Reports of an import that has ended; empty once they are removed. */
  files: z.array(importReportSchema),
  error: text,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  expiresAt: time.nullable(),
  /** Whether its end is still to be sent to webhooks. */
  isUnreported: z.boolean(),
});
export type ImportJobRecord = z.infer<typeof importJobRecordSchema>;

/** A file of a window that is in the storage. */
const scheduledFileSchema = z.strictObject({ name: z.string(), rows: z.int(), bytes: z.int(), sha256: z.string() });
export type ScheduledFile = z.infer<typeof scheduledFileSchema>;

/** An export that is repeated every hour, day or week. */
export const exportScheduleRecordSchema = z.strictObject({
  ...common,
  resource: z.enum(SCHEDULED_RESOURCES),
  frequency: z.enum(EXPORT_FREQUENCIES),
  format: z.enum(EXPORT_FORMATS),
  /** Null = the default ones. */
  columns: z.array(z.string()).nullable(),
  escapeFormulas: z.boolean(),
  rowsPerFile: z.int(),
  filters: exportFiltersSchema,
  /** The API key whose access the exports have. */
  keyId: z.string(),
  /** What the key that saved it last must not see. */
  hidesFolders: z.boolean(),
  hidesPasswords: z.boolean(),
  destination: z.strictObject({
    type: z.literal('s3'),
    endpoint: text,
    region: z.string(),
    bucket: z.string(),
    /** Without a slash at its ends; may be empty. */
    prefix: z.string(),
    forcePathStyle: z.boolean(),
    accessKeyHint: z.string(),
  }),
  /** Access key id and secret as JSON, encrypted with the instance key. */
  encryptedCredentials: z.string(),
  /** Start of the next window: all before it is exported. */
  exportedUntil: time,
  /** How far the next window has come; null = it was not begun. */
  run: z
    .strictObject({
      end: time,
      /** In the storage for certain. */
      files: z.array(scheduledFileSchema),
      /** The last event in them. */
      lastId: text,
      /** The manifest, once they are complete: then it is all that is left to write. */
      manifest: text,
    })
    .nullable(),
  /** Number of the latest attempt: what an earlier one does has no effect. */
  attempt: z.int(),
  lastWindow: exportedWindowSchema.nullable(),
  error: text,
  /** Consecutive refusals of the storage. */
  refusals: z.int(),
  /** Consecutive failures, whatever their reason. */
  failures: z.int(),
  retryAt: time.nullable(),
  disabledAt: time.nullable(),
  disabledReason: text,
  /** Which end the webhooks of the workspace have not been sent yet. */
  unreported: z.enum(['completed', 'failed']).nullable(),
});
export type ExportScheduleRecord = z.infer<typeof exportScheduleRecordSchema>;

/** The erasure of a person. It has no text of the person. */
export const erasureRecordSchema = z.strictObject({
  ...common,
  mode: z.enum(ERASURE_MODES),
  status: z.enum(ERASURE_STATUSES),
  /** Keyed hash of the external id (see `subject-hash.ts`); null when the customer was named by its id and has no record. */
  subjectHash: text,
  /** The customers that the person was. */
  customerIds: z.array(z.string()),
  /** The clicks behind their leads and sales, as far as they are found. */
  clickIds: z.array(z.string()),
  /** Deduplication token of the batch; null before it begins. */
  batch: text,
  events: z.int(),
  clicks: z.int(),
  startedAt: time.nullable(),
  erasedAt: time.nullable(),
});
export type ErasureRecord = z.infer<typeof erasureRecordSchema>;
