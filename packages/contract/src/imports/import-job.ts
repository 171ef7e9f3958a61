import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape } from '../values/paging.js';
import { serviceAddress } from '../values/parse-url.js';

/** The systems from which links can be imported (docs/reference/imports.md). */
export const IMPORT_SOURCES = ['dub', 'bitly', 'short.io', 'rebrandly', 'yourls', 'shlink', 'kutt', 'csv'] as const;
export type ImportSource = (typeof IMPORT_SOURCES)[number];

export const IMPORT_FILE_FORMATS = ['csv', 'ndjson', 'sql'] as const;
export type ImportFileFormat = (typeof IMPORT_FILE_FORMATS)[number];

/** What an import takes over of past clicks: nothing, or the counts of the source. */
export const IMPORT_HISTORIES = ['none', 'counts'] as const;
/** What an import does with a link that exists already and differs. */
export const IMPORT_CONFLICTS = ['skip', 'update', 'fail'] as const;

/** An import with the status `queued` or `processing` has not ended. */
export const IMPORT_STATUSES = ['queued', 'processing', 'completed', 'failed', 'cancelled'] as const;

/** Maximum number of imports of a workspace that have not ended. */
export const UNFINISHED_IMPORTS_MAX = 5;
/** Maximum bytes of the uploaded file of an import. */
export const IMPORT_BYTES_MAX = 200 * 1024 ** 2;

const ADDRESS_CHARS_MAX = 500;
const CREDENTIAL_CHARS_MAX = 4096;
/** Maximum items of the lists of an import. */
export const IMPORT_LIST_ITEMS_MAX = { domains: 1000, tags: 50 } as const;

/** Maximum characters of `domains` as JSON: lists of imports have those of a hundred. */
const DOMAINS_CHARS_MAX = 64_000;

const optionsShape = {
  domains: z
    .array(z.string().min(1).max(400))
    .max(IMPORT_LIST_ITEMS_MAX.domains)
    .check(({ value, issues }) => {
      if (JSON.stringify(value).length <= DOMAINS_CHARS_MAX) return;
      const message = `must together have at most ${DOMAINS_CHARS_MAX} characters as JSON`;
      issues.push({
        code: 'too_big',
        origin: 'array',
        maximum: DOMAINS_CHARS_MAX,
        inclusive: true,
        input: value,
        message,
      });
    })
    .optional()
    .describe('Where links go: `old=new` for the links of a domain, `new` for all that no pair names.'),
  tags: z
    .array(z.string().min(1).max(190))
    .max(IMPORT_LIST_ITEMS_MAX.tags)
    .optional()
    .describe('Names of tags that all links get.'),
  history: z
    .enum(IMPORT_HISTORIES)
    .optional()
    .describe('`counts` adds the totals of the source to the counters of the links. `none` by default.'),
  onConflict: z
    .enum(IMPORT_CONFLICTS)
    .optional()
    .describe('What happens to links that exist and differ; `fail` ends the import at the first. `skip` by default.'),
  timezone: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Zone of times without one, such as `Europe/Berlin`; required for `yourls`.'),
};

/** Body of `POST /imports` for an import from the API of a source, as JSON. */
export const createImportBodySchema = z.strictObject({
  source: z.enum(IMPORT_SOURCES).describe('The system that the links come from.'),
  credentials: z
    .strictObject({
      apiKey: z
        .string()
        .min(1)
        .max(CREDENTIAL_CHARS_MAX)
        .regex(/^[\x21-\x7e]+$/, { error: 'must have printable ASCII characters only' })
        .describe('Encrypted until the end of the import, then erased.'),
    })
    .describe('Access to the API of the source.'),
  address: serviceAddress(ADDRESS_CHARS_MAX)
    .optional()
    .describe('Address of the API; required for `yourls`, `shlink` and `kutt`, which have none of their own.'),
  sourceWorkspace: z
    .string()
    .max(200)
    .regex(/^[\w-]+$/, { error: 'must have letters, digits, _ and - only' })
    .optional()
    .describe('Id of the workspace there, for `rebrandly`.'),
  dryRun: z.boolean().optional().describe('Creates nothing, and counts what would be created.'),
  ...optionsShape,
});
export type CreateImportBody = z.infer<typeof createImportBodySchema>;

/** The fields of `POST /imports` as a form (`multipart/form-data`), in addition to its `file`. */
export const importFormSchema = z.strictObject({
  source: z.enum(IMPORT_SOURCES).describe('The system that the file comes from.'),
  format: z
    .enum(IMPORT_FILE_FORMATS)
    .optional()
    .describe(
      'By the end of the name of the file by default: `.ndjson`, `.jsonl` and `.sql`, and `csv` for all others.',
    ),
  dryRun: z.enum(['true', 'false']).optional().describe('Creates nothing, and counts what would be created.'),
  ...optionsShape,
});
export type ImportForm = z.infer<typeof importFormSchema>;

/** {@link importFormSchema} with the `file`; only for the OpenAPI document. */
export const importUploadSchema = importFormSchema.extend({
  file: z.string().meta({ format: 'binary' }).describe('The file, of at most 200 MB.'),
});

/** The import object of every response. */
export const importJobSchema = z.strictObject({
  id: z.string().describe('Id of the import.'),
  source: z.enum(IMPORT_SOURCES).describe('The system that the links come from.'),
  format: z.enum(IMPORT_FILE_FORMATS).nullable().describe('Format of the file; `null` for an import from an API.'),
  address: z.string().nullable().describe('Address of the API, as it was sent; `null` for the source’s own.'),
  sourceWorkspace: z.string().nullable().describe('Id of the workspace at the source.'),
  domains: z
    .array(z.string())
    .describe('Which domains of the source go to which domains of the workspace: `old=new`, or `new` for all others.'),
  dryRun: z.boolean().describe('Whether the import only counts what would be created.'),
  tags: z.array(z.string()).describe('Names of tags that all links get.'),
  history: z.enum(IMPORT_HISTORIES).describe('Whether totals of the source are added to the counters of the links.'),
  onConflict: z.enum(IMPORT_CONFLICTS).describe('What happens to links that exist and differ.'),
  timezone: z.string().nullable().describe('Time zone of times in the source that name none.'),
  status: z.enum(IMPORT_STATUSES).describe('`queued` and `processing` have not ended.'),
  rows: z.number().describe('Number of records that were read so far.'),
  created: z.number().describe('Number of links that were created.'),
  updated: z.number().describe('Number of links that existed and were changed.'),
  skipped: z.number().describe('Number of links that existed and stayed as they were.'),
  rejected: z.number().describe('Number of records that could not be imported; `rejected.csv` lists them.'),
  lost: z.number().describe('Number of values that Waymark has no field for; `lost.csv` lists them.'),
  bytes: z.number().nullable().describe('Size of the file; `null` for an API.'),
  bytesRead: z.number().nullable().describe('Bytes of the file that were read so far; `null` for an API.'),
  files: z
    .array(
      z.strictObject({
        name: z.string().describe('Name of the report.'),
        rows: z.number().describe('Number of rows of the report.'),
        bytes: z.number().describe('Size of the report.'),
        url: z.string().describe('Where to download the report, with a key of the workspace.'),
      }),
    )
    .describe('The reports `rejected.csv` and `lost.csv`, if they have rows.'),
  error: z.string().nullable().describe('Why the import failed.'),
  createdAt: z.string().describe('When the import was requested.'),
  startedAt: z.string().nullable().describe('When the import began.'),
  finishedAt: z.string().nullable().describe('When the import ended.'),
  expiresAt: z.string().nullable().describe('When the reports are removed.'),
});
export type ImportJob = z.infer<typeof importJobSchema>;

/** Query of `GET /imports`, newest first. */
export const listImportsQuerySchema = closedQuery(pageShape());
