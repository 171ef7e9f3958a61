import { ImportError } from '../model/import-error.js';

/** The text of a file in UTF-8, without its byte-order mark. @throws ImportError for another encoding */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const chunk of chunks) {
    if (bytes === 0 && isUtf16(chunk)) {
      throw new ImportError('the file is in UTF-16, not in UTF-8: convert it with `iconv -f utf-16 -t utf-8`');
    }
    const text = decode(decoder, chunk, bytes);
    bytes += chunk.length;
    if (text !== '') yield text;
  }
  const rest = decode(decoder, undefined, bytes);
  if (rest !== '') yield rest;
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array | undefined, before: number): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new ImportError(
      `the file is not in UTF-8 (after ${before} bytes), perhaps in Latin-1: convert it with \`iconv -f latin1 -t utf-8\``,
    );
  }
}
