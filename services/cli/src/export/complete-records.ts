/** Formats whose files can be continued after their last complete record. */
export type RecordFormat = 'csv' | 'ndjson';

/** The complete records of a part of a file. */
export interface CompleteRecords {
  readonly bytes: Buffer;
  readonly count: number;
  /** Without its line feed; undefined when the part completes none. */
  readonly last: Buffer | undefined;
}

export interface RecordSplitter {
  /** Adds the next bytes. @returns the records that are complete now and were not before */
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

/** Splits the bytes of a file after its records. A line feed within the quotes of a CSV field ends none. */
export function createRecordSplitter(format: RecordFormat): RecordSplitter {
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
