import { EVENT_ROW_VERSION } from '@waymark/clickhouse';

/**
 * The data of a job: `{"v":1,"rows":[…]}`, with each row on a line of its own. JSON text has no raw line break inside a
 * value, so the writer can cut the rows out of the text and hand them to ClickHouse without parsing or printing a value.
 */

const ROW_SEPARATOR = ',\n';
const TAIL = '\n]}';

function head(version: number): string {
  return `{"v":${version},"rows":[\n`;
}

/** Job data of rows that are JSON arrays already. */
export function encodeJobData(rows: readonly string[], version = EVENT_ROW_VERSION): string {
  return head(version) + rows.join(ROW_SEPARATOR) + TAIL;
}

export interface JobRows {
  readonly version: number;
  /** Each row as JSON text on one line. */
  readonly rows: readonly string[];
}

/** A job whose data no writer of any version could read. */
export class JobDataError extends Error {
  override readonly name = 'JobDataError';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** For job data that is laid out in another way, as a script or an older producer may have done. */
function parseJobData(text: string): JobRows {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (cause) {
    throw new JobDataError('job data is not JSON', { cause });
  }
  if (!isObject(data) || typeof data.v !== 'number' || !Array.isArray(data.rows)) {
    throw new JobDataError('job data has no version or no rows');
  }
  return { version: data.v, rows: data.rows.map((row) => JSON.stringify(row)) };
}

const HEAD_PATTERN = /^\{"v":(\d+),"rows":\[\n/;

/**
 * Cuts job data into its rows.
 *
 * @throws JobDataError when it is not job data
 */
export function decodeJobData(text: string): JobRows {
  const match = HEAD_PATTERN.exec(text);
  if (match === null || !text.endsWith(TAIL)) return parseJobData(text);
  const body = text.slice(match[0].length, -TAIL.length);
  return { version: Number(match[1]), rows: body === '' ? [] : body.split(ROW_SEPARATOR) };
}
