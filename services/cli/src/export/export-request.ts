import {
  EVENT_KINDS,
  EXPORT_FORMATS,
  EXPORT_RESOURCES,
  type ExportResource,
  exportAnalyticsQuerySchema,
  exportCustomersQuerySchema,
  exportEventsQuerySchema,
  exportLinksQuerySchema,
} from '@waymark/contract';
import { choiceOption, oneOf, optionalText, type RawOption } from '../option-values.js';
import type { RecordFormat } from './complete-records.js';

/** The query strings of the routes that the command calls. */
const SCHEMAS = {
  events: exportEventsQuerySchema,
  links: exportLinksQuerySchema,
  customers: exportCustomersQuerySchema,
  analytics: exportAnalyticsQuerySchema,
} as const satisfies Readonly<Record<ExportResource, unknown>>;

/** Set by the command itself when it continues an export. */
const OWN_PARAMETER = 'startingAfter';

/** The parameters of all four routes that the command passes on, by name. */
export const EXPORT_PARAMETERS: readonly string[] = [
  ...new Set(Object.values(SCHEMAS).flatMap((schema) => Object.keys(schema.out.shape))),
].filter((name) => name !== OWN_PARAMETER);

/** The export that a command line requests. */
export interface ExportRequest {
  readonly resource: ExportResource;
  readonly format: 'csv' | 'ndjson' | 'parquet' | 'zip';
  /** Parameters of `GET /<resource>/export` as they were typed, `format` included unless it is left out. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Reads the options of `waymark export`. @throws CommandError for a resource or a format that does not exist */
export function exportRequest(name: string, options: Readonly<Record<string, RawOption>>): ExportRequest {
  const resource = oneOf(EXPORT_RESOURCES, name, `there is no export of "${name}"; exports are:`);
  const parameters = Object.fromEntries(
    EXPORT_PARAMETERS.flatMap((parameter) => {
      const value = optionalText(parameter, options[parameter]);
      return value === undefined ? [] : [[parameter, value]];
    }),
  );
  if (resource === 'analytics') return { resource, format: 'zip', parameters };
  return { resource, format: choiceOption('format', parameters.format, EXPORT_FORMATS, 'csv'), parameters };
}

/** The column with the id of a record, after which an interrupted export continues. */
export function idColumn({ resource, parameters }: ExportRequest): string {
  if (resource !== 'events') return 'id';
  return (parameters.event ?? EVENT_KINDS[0]) === EVENT_KINDS[0] ? 'clickId' : 'eventId';
}

/**
 * The format of an export that can be continued after its last complete record; undefined for all others. A CSV file without the column of
 * ids cannot be continued, because its last record does not say where to go on.
 */
export function recordFormat(request: ExportRequest): RecordFormat | undefined {
  const { format, parameters } = request;
  const columns = parameters.columns?.split(',').map((column) => column.trim());
  if (format === 'ndjson') return format;
  const hasIds =
    columns === undefined || columns.every((column) => column === '') || columns.includes(idColumn(request));
  return format === 'csv' && hasIds ? format : undefined;
}
