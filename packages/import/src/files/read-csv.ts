import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type CsvError, type Options, parse } from 'csv-parse';
import { ImportError } from '../model/import-error.js';
import { RowError, type SourceRow } from '../model/source-link.js';
import { csvFields } from '../sources/csv.js';
import { decodeText } from './decode-text.js';
import { inPieces } from './in-pieces.js';
import { type BadRow, wholeRows } from './whole-rows.js';

const DELIMITERS = [',', ';', '\t'] as const;
const HEADING_CHARS_MAX = 65_536;
const COLUMNS_MAX = 1000;
/** Maximum number of rows before the heading that get its columns. */
const WAITING_MAX = 1000;
/** Longer than any link. */
const ROW_CHARS_MAX = 1_000_000;

/**
 * The position of the newline that ends the first line with content, outside quotes. -1 while the text has no such newline, or ends with
 * it: the next character decides whether the newline is CR LF.
 */
function headingEnd(text: string): number {
  let isQuoted = false;
  for (let at = Math.max(0, text.search(/[^\r\n]/)); at < text.length - 1; at++) {
    const character = text[at];
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === '\n' || character === '\r')) return at;
  }
  return -1;
}

/** The delimiter that occurs most often in the heading, outside quotes. */
function delimiterOf(heading: string): string {
  const bare = heading.replace(/"[^"]*"/g, '');
  const counted = DELIMITERS.map((delimiter) => ({ delimiter, count: bare.split(delimiter).length }));
  return counted.reduce((most, one) => (one.count > most.count ? one : most)).delimiter;
}

/**
 * Detects the delimiter and the newline by the heading. Rows may end with CR LF although the heading ends with LF, and the other way round,
 * because files are put together. `whole` is the text from its start, without a line `sep=`.
 */
async function openText(texts: AsyncGenerator<string>) {
  let begin = '';
  async function readHeading(): Promise<number> {
    while (begin.length < HEADING_CHARS_MAX && headingEnd(begin) < 0) {
      const next = await texts.next();
      if (next.done) break;
      begin += next.value;
    }
    return headingEnd(begin);
  }
  let end = await readHeading();
  // Excel may name the delimiter in a first line such as `sep=;`.
  const [named, delimiter] = /^sep=([,;\t])(?:\r\n?|\n)/i.exec(begin) ?? [];
  if (named !== undefined) {
    begin = begin.slice(named.length);
    end = await readHeading();
  }
  async function* whole() {
    yield begin;
    yield* texts;
  }
  const firstNewline = /\r\n?|\n/.exec(end < 0 ? begin : begin.slice(end))?.[0];
  return {
    delimiter: delimiter ?? delimiterOf(end < 0 ? begin : begin.slice(0, end)),
    newline: firstNewline === '\r' ? '\r' : '\n',
    whole: whole(),
  } as const;
}

/** Returns the field names for the headings of a table. @throws RowError for headings that cannot be used */
type NameFields = (headings: readonly string[]) => string[];

function headingFields(headings: readonly string[], nameFields: NameFields): string[] {
  if (headings.length > COLUMNS_MAX)
    throw new ImportError(`the heading of the file has more than ${COLUMNS_MAX} columns`);
  try {
    return nameFields(headings);
  } catch (err) {
    throw err instanceof RowError ? new ImportError(`the heading of the file: ${err.message}`) : err;
  }
}

/** A row of the file as the parser returns it, and the rows before it that could not be read. */
interface ParsedRow {
  readonly row: number;
  readonly values: readonly string[];
  readonly unread: readonly SourceRow[];
}

/**
 * Reads a UTF-8 table with a heading, separated by `,`, `;` or tabs; quoted fields may contain newlines. A row that cannot be read is
 * yielded with its error.
 *
 * @param nameFields returns the field names for the headings; by default those of links
 * @throws ImportError when the file as a whole cannot be read
 */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  nameFields: NameFields = csvFields,
): AsyncGenerator<SourceRow> {
  const { delimiter, newline, whole } = await openText(decodeText(chunks));
  let row = 0;
  let unread: SourceRow[] = [];
  /** Replaces a row that cannot be read, so that the parser still counts it. */
  const mark = randomUUID();
  let bad: BadRow[] = [];
  let badUsed = 0;
  function nextBad(): BadRow {
    const next = bad[badUsed++] as BadRow;
    if (badUsed === bad.length) [bad, badUsed] = [[], 0];
    return next;
  }
  const rows = wholeRows(whole, {
    delimiter,
    newline,
    charsMax: ROW_CHARS_MAX,
    onBadRow(one) {
      bad.push(one);
      return mark;
    },
  });
  const options: Options<ParsedRow, string[]> = {
    delimiter,
    record_delimiter: newline === '\r' ? newline : ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_error: true,
    on_record(values: string[]): ParsedRow {
      row++;
      const isBad = values[0] === mark;
      if (isBad) unread.push({ row, ...nextBad() });
      const parsed = { row, values: isBad ? [] : values, unread };
      unread = [];
      return parsed;
    },
    on_skip(err: CsvError | undefined, raw: string | undefined) {
      row++;
      unread.push({ row, record: (raw ?? '').slice(0, 1000), error: err?.message ?? 'the row cannot be read' });
      return undefined;
    },
  };
  const parser = parse(options as unknown as Options);
  const fed = pipeline(Readable.from(inPieces(rows)), parser);
  // Not unhandled: the loop below throws the same error.
  fed.catch(() => undefined);
  let fields: readonly string[] | undefined;
  let waiting: SourceRow[] = [];
  for await (const parsed of parser as AsyncIterable<ParsedRow>) {
    waiting.push(...parsed.unread);
    const isBlank = parsed.values.every((value) => value === '');
    const isHeading = fields === undefined && !isBlank;
    // The first rejected row sets the columns of the report: rows before the heading wait for them.
    try {
      if (isHeading) fields = headingFields(parsed.values, nameFields);
    } catch (err) {
      yield* waiting;
      throw err;
    }
    if (fields === undefined && waiting.length < WAITING_MAX) continue;
    yield* withColumns(waiting, fields);
    waiting = [];
    if (fields !== undefined && !isBlank && !isHeading) yield toRow(fields, parsed);
  }
  yield* withColumns([...waiting, ...unread], fields);
  await fed;
  if (fields === undefined) throw new ImportError('the file has no heading');
}

function withColumns(rows: readonly SourceRow[], columns: readonly string[] | undefined): readonly SourceRow[] {
  return columns === undefined ? rows : rows.map((row) => ({ ...row, columns }));
}

function toRow(fields: readonly string[], { row, values }: ParsedRow): SourceRow {
  const record = Object.fromEntries(values.slice(0, fields.length).map((value, index) => [fields[index], value]));
  const rest = values.slice(fields.length);
  if (values.length >= fields.length && rest.every((value) => value === '')) return { row, record };
  const error = `the row has ${values.length} columns, and the heading ${fields.length}`;
  return { row, record, error, columns: fields, rest };
}
