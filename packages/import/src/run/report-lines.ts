import { reportText } from '../model/as-json.js';
import type { Loss, Rejection } from './import-report.js';

/** The state of the reports, from which a continued run starts. */
export interface ReportState {
  /** Number of rejected rows so far. */
  readonly rejected: number;
  /** Number of lost values so far. */
  readonly lost: number;
  /** Columns of the rejected rows of a table, which its heading names; empty until a row was rejected. */
  readonly columns: readonly string[];
}

export const NO_LINES: ReportState = { rejected: 0, lost: 0, columns: [] };

/** The columns that rejected rows get. They are left out of the columns of a report that is imported: otherwise they would be there twice. */
const REJECTION_HEADING = ['rejectedRow', 'rejectedReason'];
const LOSS_HEADING = ['row', 'link', 'field', 'value', 'reason'];

/** A value as a field of CSV, quoted if necessary. */
function field(value: unknown): string {
  const text = value === null || value === undefined ? '' : reportText(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const line = (values: readonly unknown[]) => `${values.map(field).join(',')}\r\n`;

function columnsOf({ record, columns }: Rejection): string[] {
  if (columns !== undefined) return [...new Set(columns)];
  return typeof record === 'object' && record !== null ? Object.keys(record) : [];
}

/**
 * Formats the reports of an import as CSV, one line at a time; the first line of each report is preceded by its heading.
 *
 * @param isTable whether the records are rows of a table: rejected rows then keep their columns, so that the report can be imported again
 */
export function createReportLines(isTable: boolean, begin: ReportState = NO_LINES) {
  let { rejected, lost, columns } = begin;

  /** A row with too few or too many values keeps them as they are, so that it is rejected again unless it is corrected. */
  function rejectedRow({ row, reason, record, rest = [] }: Rejection): readonly unknown[] {
    if (!isTable) return [row, reason, reportText(record)];
    if (typeof record !== 'object' || record === null)
      return [row, record === '' ? reason : `${reason}: ${String(record)}`];
    const present = columns.filter((name) => Object.hasOwn(record, name));
    return [row, reason, ...present.map((name) => (record as Record<string, unknown>)[name]), ...rest];
  }

  return {
    state: (): ReportState => ({ rejected, lost, columns }),

    rejected(rejection: Rejection): string {
      if (rejected === 0 && isTable) columns = columnsOf(rejection).filter((name) => !REJECTION_HEADING.includes(name));
      const heading = [...REJECTION_HEADING, ...(isTable ? columns : ['record'])];
      const text = line(rejectedRow(rejection));
      return rejected++ === 0 ? line(heading) + text : text;
    },

    lost({ row, link, field: name, value, reason }: Loss): string {
      const text = line([row, link, name, value, reason]);
      return lost++ === 0 ? line(LOSS_HEADING) + text : text;
    },
  };
}
