import type { ImportFileFormat } from '@waymark/contract';

/** The format of a file by the extension of its name; CSV for unknown extensions. */
export function fileFormat(name: string): ImportFileFormat {
  if (/\.sql$/i.test(name)) return 'sql';
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv';
}
