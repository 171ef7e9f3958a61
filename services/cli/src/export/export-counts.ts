import { megabytes } from '../output.js';

/** The progress of an export. The export updates its fields. */
export interface ExportCounts {
  rows: number;
  bytes: number;
  /** What is being done, such as `downloading`. */
  phase: string;
}

/** Rows, speed and size in one line. @param seconds since the start */
export function countsText({ rows, bytes, phase }: ExportCounts, seconds: number): string {
  if (rows === 0 && bytes === 0) return phase;
  const of =
    rows === 0 ? '' : `${rows.toLocaleString('en')} rows, ${Math.round(rows / seconds).toLocaleString('en')}/s, `;
  return `${phase}: ${of}${megabytes(bytes)}`;
}
