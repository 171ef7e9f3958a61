import { z } from 'zod';
import { lastValue, queryBoolean, queryEnum, queryList } from '../values/query-values.js';

/** Formats of exported files. */
export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Longest id of an event, link or customer. */
const ID_CHARS_MAX = 100;

/** A cursor that must not be empty: if an empty one were ignored, the export would silently begin at the start again. */
const cursorText = z.preprocess(lastValue, z.string().min(1).max(ID_CHARS_MAX).optional());

/** The parameter that makes texts in CSV files safe for spreadsheet programs. */
export const escapeFormulas = queryBoolean.describe(
  "Puts `'` before texts that spreadsheet programs would run as formulas (first character `=`, `+`, `-`, `@`, tab or return); only in CSV. True by default.",
);

/**
 * The parameters that all exports of lists have in addition to the filters of the list.
 *
 * @param columns names of all columns, for the documentation
 */
export function exportShape(columns: readonly string[]) {
  return {
    format: queryEnum(EXPORT_FORMATS).describe('`csv` by default.'),
    columns: queryList.describe(
      `Columns of CSV and Parquet files, in this order; NDJSON always has whole objects. Known columns: ${columns.map((name) => `\`${name}\``).join(', ')}.`,
    ),
    escapeFormulas,
    startingAfter: cursorText.describe(
      'Continues an export that was cut off: the id of the last item that arrived complete. A CSV that continues has no header row.',
    ),
  };
}

/** The parsed parameters of {@link exportShape}. */
export interface ExportQuery {
  readonly format?: ExportFormat | undefined;
  readonly columns?: string | undefined;
  readonly escapeFormulas?: boolean | undefined;
  readonly startingAfter?: string | undefined;
}
