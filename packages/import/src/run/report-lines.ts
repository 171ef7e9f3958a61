import { reportText } from '../model/as-json.js';
import type { Loss, Rejection } from './import-report.js';

/** What the reports have so far; a run that continues begins with it. */
export interface ReportState {
  readonly rejected: number;
  readonly lost: number;
  /** Columns of the first rejected record that is one. */
  readonly columns: readonly string[];
}

export const NO_LINES: ReportState = { rejected: 0, lost: 0, columns: [] };

const LOSS_HEADING = ['row', 'link', 'field', 'value', 'reason'];

/** A field of CSV, in quotes where it needs them. */
function field(value: unknown): string {
  const text = value === null || value === undefined ? '' : reportText(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const line = (values: readonly unknown[]) => `${values.map(field).join(',')}\r\n`;

/**
 * The reports of an import as CSV, a line at a time; the first line of each comes with its heading.
 *
 * @param isTable whether the records are rows of a table: rejected ones then keep their columns, so that they can be imported again
 */
export function createReportLines(isTable: boolean, begin: ReportState = NO_LINES) {
  let { rejected, lost, columns } = begin;

  function rejectedRow({ row, reason, record }: Rejection): readonly unknown[] {
    if (!isTable) return [row, reason, reportText(record)];
    if (typeof record !== 'object' || record === null)
      return [row, record === '' ? reason : `${reason}: ${String(record)}`];
    return [row, reason, ...columns.map((name) => (record as Record<string, unknown>)[name])];
  }

  return {
    state: (): ReportState => ({ rejected, lost, columns }),

    rejected(rejection: Rejection): string {
      const { record } = rejection;
      if (rejected === 0) columns = typeof record === 'object' && record !== null ? Object.keys(record) : [];
      const heading = ['rejectedRow', 'rejectedReason', ...(isTable ? columns : ['record'])];
      const text = line(rejectedRow(rejection));
      return rejected++ === 0 ? line(heading) + text : text;
    },

    lost({ row, link, field: name, value, reason }: Loss): string {
      const text = line([row, link, name, value, reason]);
      return lost++ === 0 ? line(LOSS_HEADING) + text : text;
    },
  };
}
