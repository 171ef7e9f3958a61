import { cutText, exceededJsonSize } from '@waymark/contract';
import { ImportError } from '../model/import-error.js';
import type { SourceRow } from '../model/source-link.js';
import { decodeText } from './decode-text.js';

const LINE_CHARS_MAX = 4_000_000;
/** As in the body of a request: JSON with more values would block the process while it is parsed. */
const VALUES_MAX = 20_000;

function toRow(row: number, line: string): SourceRow {
  if (exceededJsonSize(line, { values: VALUES_MAX, levels: VALUES_MAX }) !== undefined)
    return { row, record: cutText(line, 1000), error: `the line has more than ${VALUES_MAX} values` };
  try {
    return { row, record: JSON.parse(line) };
  } catch {
    return { row, record: cutText(line, 1000), error: 'the line is not JSON' };
  }
}

/** Reads a file with one JSON object per line; skips empty lines. @throws ImportError for a line of more than 4 MB */
export async function* readNdjson(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow> {
  let row = 0;
  let rest = '';
  for await (const text of decodeText(chunks)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_CHARS_MAX) throw new ImportError(`line ${row + lines.length + 1} is longer than 4 MB`);
    for (const line of lines) {
      row++;
      if (line.trim() !== '') yield toRow(row, line);
    }
  }
  if (rest.trim() !== '') yield toRow(row + 1, rest);
}
