import type { ImportFileFormat } from '@waymark/contract';

export type FileFormat = ImportFileFormat;

/** The format of a file by the end of its name; CSV for other names. */
export function fileFormat(name: string): FileFormat {
  if (/\.sql$/i.test(name)) return 'sql';
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv';
}
