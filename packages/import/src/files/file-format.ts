import type { ImportFileFormat } from '@waymark/contract';

/** The formats of files that can be imported (docs/reference/imports.md). */
export type FileFormat = ImportFileFormat;

/** The format of a file by the extension of its name; CSV for unknown extensions. */
export function fileFormat(name: string): FileFormat {
  if (/\.sql$/i.test(name)) return 'sql';
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv';
}
