import { formatQueryParams } from '@clickhouse/client-common';

/**
 * Most bytes of one query parameter in a URL, percent-encoded: the default `http_max_field_value_size` of a ClickHouse server, which reads
 * it before the settings of the request.
 */
const VALUE_BYTES_MAX = 128 * 1024;
/** Most bytes that a UTF-16 code unit takes: three bytes of UTF-8, each as `%E2`. */
const CHAR_BYTES_MAX = 9;
/** More characters than a number has. */
const NUMBER_CHARS = 24;
/** Quotes, comma or brackets around an element of a list. */
const MARKS = 4;

/** A statement and the values of its parameters. */
export interface ParameterizedQuery {
  readonly query: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** No fewer characters than the text of a text, number, date or list of these has. */
function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (!Array.isArray(value)) return NUMBER_CHARS;
  return value.reduce((sum: number, one) => sum + charsOf(one) + MARKS, MARKS);
}

function fits(value: unknown): boolean {
  if (charsOf(value) * CHAR_BYTES_MAX <= VALUE_BYTES_MAX) return true;
  const encoded = new URLSearchParams([['', formatQueryParams({ value })]]).toString();
  return encoded.length - '='.length <= VALUE_BYTES_MAX;
}

/** Divides a list into lists that fit. One that cannot be divided any more is left as it is, and the server refuses it. */
function parts(values: readonly unknown[]): readonly (readonly unknown[])[] {
  if (values.length < 2 || fits(values)) return [values];
  const middle = values.length >> 1;
  return [...parts(values.slice(0, middle)), ...parts(values.slice(middle))];
}

/**
 * Divides lists that are too long for one parameter: `{ids:Array(UInt64)}` becomes
 * `arrayConcat({ids_part0:Array(UInt64)}, {ids_part1:Array(UInt64)})`, which ClickHouse computes once for a statement. All parameters
 * together may have a megabyte, which is not checked here.
 */
export function splitParameters(statement: ParameterizedQuery): ParameterizedQuery {
  let { query } = statement;
  const divided: [string, unknown][] = [];
  for (const [name, value] of Object.entries(statement.parameters)) {
    if (!Array.isArray(value) || fits(value)) continue;
    const lists = parts(value);
    query = query.replaceAll(new RegExp(`\\{${name}:([^{}]+)\\}`, 'g'), (_placeholder, type: string) => {
      return `arrayConcat(${lists.map((_list, index) => `{${name}_part${index}:${type}}`).join(', ')})`;
    });
    divided.push([name, undefined], ...lists.map((list, index): [string, unknown] => [`${name}_part${index}`, list]));
  }
  if (divided.length === 0) return statement;
  const all = Object.entries({ ...statement.parameters, ...Object.fromEntries(divided) });
  return { query, parameters: Object.fromEntries(all.filter(([, value]) => value !== undefined)) };
}
