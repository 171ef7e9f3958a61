import { formatQueryParams } from '@clickhouse/client-common';

/**
 * Maximum bytes of one query parameter in a URL, percent-encoded: the default `http_max_field_value_size` of a ClickHouse server, which reads
 * it before the settings of the request.
 */
const VALUE_BYTES_MAX = 128 * 1024;
/** Maximum bytes that a UTF-16 code unit takes: three bytes of UTF-8, each as `%E2`. */
const CHAR_BYTES_MAX = 9;
/** Upper bound of the characters of a value that is no text or list, such as a number or a date. */
const NUMBER_CHARS = 24;
/** Quotes, comma or brackets around an element of a list. */
const MARKS = 4;

/** A statement and the values of its parameters. */
export interface ParameterizedQuery {
  readonly query: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Upper bound of the characters of a value: a text, a number, a date, or a list of these. */
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

type Divisible = string | readonly unknown[];

/** A parameter in a statement, by name and type. */
const PLACEHOLDER = /\{(\w+):([^{}]+)\}/g;
const HIGH_SURROGATE = /[\ud800-\udbff]/;

/** Divides a list or text into parts that fit. An element of a list is not divided; the server refuses one that is too long. */
function parts(value: Divisible): readonly Divisible[] {
  if (value.length < 2 || fits(value)) return [value];
  const middle = value.length >> 1;
  const isPair = typeof value === 'string' && HIGH_SURROGATE.test(value.charAt(middle - 1));
  const end = isPair ? middle + 1 : middle;
  return [...parts(value.slice(0, end)), ...parts(value.slice(end))];
}

/**
 * Divides lists and texts that are too long for one parameter: `{ids:Array(UInt64)}` becomes
 * `arrayConcat({ids_part0:Array(UInt64)}, {ids_part1:Array(UInt64)})`, and a text a `concat`, which ClickHouse computes once for a
 * statement. All parameters together may have a megabyte, which is not checked here.
 */
export function splitParameters(statement: ParameterizedQuery): ParameterizedQuery {
  const whole: [string, unknown][] = [];
  const divided = new Map<string, readonly Divisible[]>();
  for (const [name, value] of Object.entries(statement.parameters)) {
    if ((typeof value === 'string' || Array.isArray(value)) && !fits(value)) divided.set(name, parts(value));
    else whole.push([name, value]);
  }
  if (divided.size === 0) return statement;
  const query = statement.query.replace(PLACEHOLDER, (placeholder, name: string, type: string) => {
    const pieces = divided.get(name);
    if (pieces === undefined) return placeholder;
    const join = typeof pieces[0] === 'string' ? 'concat' : 'arrayConcat';
    return `${join}(${pieces.map((_piece, index) => `{${name}_part${index}:${type}}`).join(', ')})`;
  });
  const pieces = [...divided].flatMap(([name, ofName]) =>
    ofName.map((piece, index): [string, unknown] => [`${name}_part${index}`, piece]),
  );
  return { query, parameters: Object.fromEntries([...whole, ...pieces]) };
}
