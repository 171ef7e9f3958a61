/** Rows and bytes that a statement has read from tables; undefined when the engine does not report them. */
export interface ReadCounts {
  readonly rowsRead: number | undefined;
  readonly bytesRead: number | undefined;
}

/** For statements whose native result has only the number of its own rows. */
export const UNKNOWN_COUNTS: ReadCounts = { rowsRead: undefined, bytesRead: undefined };

const ROWS_FORMAT = /\bFORMAT\s+JSONCompactEachRow\s*$/i;
/** Words of statements whose result has more than rows; the format with progress has further kinds of lines for them. */
const MORE_THAN_ROWS = /\b(?:TOTALS|EXTREMES)\b/i;

/**
 * The SELECT in a format with the same rows and the true counts of what was read, for `takeCounts`. It costs a hundredth of a
 * millisecond a statement; formats with statistics, such as JSONCompact, take a quarter more for a thousand rows.
 *
 * @param sql without FORMAT clauses other than one at its end
 * @returns undefined for other formats than JSONCompactEachRow
 */
export function withCounts(sql: string, settings: ReadonlyMap<string, string>): string | undefined {
  if (!ROWS_FORMAT.test(sql) || MORE_THAN_ROWS.test(sql) || settings.has('extremes')) return undefined;
  return sql.replace(ROWS_FORMAT, 'FORMAT JSONCompactEachRowWithProgress');
}

const LINE_FEED = 10;
const ROW_START = Buffer.from('{"row":');
const PROGRESS_START = Buffer.from('{"progress":');

function startsWith(bytes: Buffer, start: Buffer, at: number): boolean {
  return bytes.compare(start, 0, start.length, at, Math.min(bytes.length, at + start.length)) === 0;
}

/**
 * Turns a result of the format with progress into one of JSONCompactEachRow, in its own memory, and returns it with the counts.
 * Its lines are `{"meta":…}`, `{"row":[…]}` for each row, and `{"progress":…}`, of which the last one has the final counts.
 */
export function takeCounts(bytes: Buffer): ReadCounts & { readonly bytes: Buffer } {
  let length = 0;
  let counts = '';
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, at);
    const end = found < 0 ? bytes.length : found;
    if (startsWith(bytes, ROW_START, at)) {
      // Without the closing brace, and with a line feed.
      bytes.copyWithin(length, at + ROW_START.length, end - 1);
      length += end - 1 - (at + ROW_START.length);
      bytes[length++] = LINE_FEED;
    } else if (startsWith(bytes, PROGRESS_START, at)) counts = bytes.toString('latin1', at, end);
    at = end + 1;
  }
  const count = (name: string) => Number(new RegExp(`"${name}":"(\\d+)"`).exec(counts)?.[1] ?? 0);
  return { bytes: bytes.subarray(0, length), rowsRead: count('read_rows'), bytesRead: count('read_bytes') };
}
