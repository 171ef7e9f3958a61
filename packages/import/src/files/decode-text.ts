import { ImportError } from '../model/import-error.js';

/** Files that users send by mistake instead of UTF-8 text, by their first bytes in hexadecimal. */
const BINARY: readonly (readonly [firstBytes: string, message: string])[] = [
  ['fffe', 'the file is in UTF-16, not in UTF-8: convert it with `iconv -f utf-16 -t utf-8`'],
  ['feff', 'the file is in UTF-16, not in UTF-8: convert it with `iconv -f utf-16 -t utf-8`'],
  ['504b0304', 'the file is an Excel workbook or a ZIP archive: save the sheet as CSV in UTF-8, or unpack the archive'],
  ['d0cf11e0', 'the file is an Excel workbook: save the sheet as CSV in UTF-8'],
  ['1f8b', 'the file is compressed: unpack it with `gunzip`'],
];

/**
 * Decodes the chunks of a UTF-8 file, without its byte-order mark.
 *
 * @throws ImportError for another encoding, with the line that is wrong
 */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  let lines = 0;
  for await (const chunk of chunks) {
    if (bytes === 0) checkIsText(chunk);
    const text = decode(decoder, chunk, lines);
    bytes += chunk.length;
    lines += newlinesIn(chunk);
    if (text !== '') yield text;
  }
  const rest = decode(decoder, undefined, lines);
  if (rest !== '') yield rest;
}

function checkIsText(chunk: Uint8Array): void {
  const start = Buffer.from(chunk.subarray(0, 4)).toString('hex');
  const found = BINARY.find(([firstBytes]) => start.startsWith(firstBytes));
  if (found !== undefined) throw new ImportError(found[1]);
}

function newlinesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++;
  return count;
}

const CONTINUATION_BYTES_MAX = 3;

/** The line number, from 1, of the first bytes of the chunk that are not UTF-8. @param linesBefore newlines before the chunk */
function wrongLine(chunk: Uint8Array, linesBefore: number): number {
  // Continuation bytes at the start of the chunk may belong to a character that began in the chunk before.
  let from = 0;
  while (from < CONTINUATION_BYTES_MAX && ((chunk[from] ?? 0) & 0xc0) === 0x80) from++;
  for (let line = linesBefore + 1; ; line++) {
    const end = chunk.indexOf(10, from);
    try {
      const bytes = chunk.subarray(from, end < 0 ? chunk.length : end);
      new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: end < 0 });
    } catch {
      return line;
    }
    // Each line is valid, so the wrong character is the one that the chunks share.
    if (end < 0) return linesBefore + 1;
    from = end + 1;
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array | undefined, linesBefore: number): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    const line = chunk === undefined ? linesBefore + 1 : wrongLine(chunk, linesBefore);
    throw new ImportError(
      `line ${line} of the file is not in UTF-8, perhaps in Latin-1: convert the file with \`iconv -f latin1 -t utf-8\``,
    );
  }
}
