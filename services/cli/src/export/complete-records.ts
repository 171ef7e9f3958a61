/** Formats whose files can be continued after their last complete record. */
export type RecordFormat = 'csv' | 'ndjson';

/** Records that have become complete with a chunk. */
export interface CompleteRecords {
  /** The bytes of the records, with their line feeds. */
  readonly bytes: Buffer;
  readonly count: number;
  /** The last one, without its line feed; undefined when there is none. */
  readonly last: Buffer | undefined;
}

/** See {@link createRecordSplitter}. */
export interface RecordSplitter {
  /** Adds the next bytes of the file. @returns the records that they complete */
  push(chunk: Buffer): CompleteRecords;
  /** Whether the bytes so far end with a complete record. */
  isComplete(): boolean;
}

const LINE_FEED = '\n'.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);

function hasOddQuotes(line: Buffer): boolean {
  let isOdd = false;
  for (let at = line.indexOf(QUOTE); at >= 0; at = line.indexOf(QUOTE, at + 1)) isOdd = !isOdd;
  return isOdd;
}

/** Splits the bytes of a file after each record. A line feed within a quoted CSV field does not end a record. */
export function createRecordSplitter(format: RecordFormat): RecordSplitter {
  /** Chunks of the record that is not complete yet. */
  let begun: Buffer[] = [];
  let isQuoted = false;
  return {
    push(chunk) {
      let [start, end, lastStart, count] = [0, 0, 0, 0];
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
        if (format === 'csv' && hasOddQuotes(chunk.subarray(start, at))) isQuoted = !isQuoted;
        start = at + 1;
        if (isQuoted) continue;
        [lastStart, end] = [end, start];
        count += 1;
      }
      const rest = chunk.subarray(start);
      if (format === 'csv' && hasOddQuotes(rest)) isQuoted = !isQuoted;
      if (count === 0) {
        begun.push(chunk);
        return { bytes: Buffer.alloc(0), count, last: undefined };
      }
      const before = Buffer.concat(begun);
      begun = end < chunk.length ? [chunk.subarray(end)] : [];
      const bytes = before.length === 0 ? chunk.subarray(0, end) : Buffer.concat([before, chunk.subarray(0, end)]);
      const last = bytes.subarray(count === 1 ? 0 : before.length + lastStart, bytes.length - 1);
      return { bytes, count, last };
    },
    isComplete: () => begun.length === 0,
  };
}
