import { stringify } from 'csv-stringify/sync';
import type { ColumnType } from '../columns.js';
import type { Encoder, EncoderOptions } from './encoder.js';

/** RFC 4180: records end with CR LF. Fields with a lone CR or LF are quoted too, because many parsers would end the record there. */
const RECORDS = { record_delimiter: 'windows', quoted_match: /[\r\n]/ } as const;

/** The options of records. The only field of a record is quoted when it is empty, because readers skip blank lines. */
function recordsOf(columns: readonly unknown[], escapesFormulas: boolean) {
  return { ...RECORDS, escape_formulas: escapesFormulas, quoted_empty: columns.length === 1 };
}

/** The field of a value. Null is an empty field. */
function fieldOf(type: ColumnType, value: unknown): string | number {
  if (value === null || value === undefined) return '';
  switch (type) {
    case 'text':
    case 'time':
      return String(value);
    case 'integer':
      return Number(value);
    case 'flag':
      return value === true ? 'true' : 'false';
    case 'texts':
      return (value as readonly string[]).join(', ');
    case 'json':
      return JSON.stringify(value);
  }
}

/** Creates an encoder of CSV: RFC 4180 in UTF-8, with a header row of column names. */
export function createCsvEncoder<Item>({
  columns,
  escapesFormulas,
  isContinuation,
}: Pick<EncoderOptions<Item>, 'columns' | 'escapesFormulas' | 'isContinuation'>): Encoder {
  let header = isContinuation ? '' : stringify([columns.map(({ name }) => name)], RECORDS);
  const options = recordsOf(columns, escapesFormulas);
  const takeHeader = () => {
    const taken = header;
    header = '';
    return taken;
  };
  return {
    encode(items) {
      const records = items.map((text) => {
        const item = JSON.parse(text) as Item;
        return columns.map(({ type, read }) => fieldOf(type, read(item)));
      });
      return Buffer.from(takeHeader() + stringify(records, options));
    },
    // A file without items still has a header.
    end: () => [Buffer.from(takeHeader())],
  };
}

/** A part of a CSV file ends with the row that reaches this many characters. */
const PART_CHARS = 250_000;
/** Characters that are added for each field to those of its text, for its separator and for the digits of a number. */
const FIELD_CHARS = 8;

/**
 * Encodes rows that are in memory as a whole CSV file, part by part: a part takes about a millisecond. Objects in fields are written as
 * JSON.
 */
export function* csvTable(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
  escapesFormulas: boolean,
): Generator<Uint8Array> {
  yield Buffer.from(stringify([[...columns]], RECORDS));
  const options = recordsOf(columns, escapesFormulas);
  let records: (string | number)[][] = [];
  let chars = 0;
  for (const row of rows) {
    const record = columns.map((name) => plainField(row[name]));
    records.push(record);
    for (const field of record) chars += FIELD_CHARS + (typeof field === 'string' ? field.length : 0);
    if (chars < PART_CHARS) continue;
    yield Buffer.from(stringify(records, options));
    records = [];
    chars = 0;
  }
  if (records.length > 0) yield Buffer.from(stringify(records, options));
}

function plainField(value: unknown): string | number {
  if (typeof value === 'number') return value;
  return typeof value === 'object' ? fieldOf('json', value) : String(value ?? '');
}
