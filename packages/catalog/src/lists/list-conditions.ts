import { parseResourceId, type ResourceKind } from '@waymark/contract';
import type { QueryParameters } from '../clickhouse/query-rows.js';
import { storableText } from '../model/storable-text.js';
import { storedAddressTexts } from './stored-address-texts.js';

/** A condition of a list: constant SQL over the columns of a table. Values are passed only as parameters. */
export interface SqlCondition {
  readonly sql: string;
  readonly values: QueryParameters;
  /**
   * Whether the first page may be looked for among the first rows of the workspace only (`first-rows.ts`). `ids`: yes, and the condition
   * reads only the id. `most`: yes, most records of a workspace meet it. By default no: few may meet it, and it may read any column.
   */
  readonly selects?: 'ids' | 'most';
}

/** A condition that no record meets. */
const NOTHING: SqlCondition = { sql: '0', values: {} };

/** Whether no record can meet the conditions, so that none need be looked for. */
export function matchNothing(conditions: readonly SqlCondition[]): boolean {
  return conditions.includes(NOTHING);
}

/** SQL that follows another condition: all of these hold, too. */
export function andAll(conditions: readonly SqlCondition[]): string {
  return conditions.map(({ sql }) => `AND (${sql})`).join(' ');
}

/** The parameters of all of the conditions. */
export function valuesOf(conditions: readonly SqlCondition[]): QueryParameters {
  return Object.assign({}, ...conditions.map(({ values }) => values));
}

// Columns are constants in the code. Parameters are named after their column, so a list must not have two conditions of the same function
// on the same column, unless they get different parameter names.

/** SQL that reads a text field from the JSON of a record, for fields without a column. */
export const dataText = (field: string): string => `JSONExtractString(data, '${field}')`;

/** SQL of the JSON of a record in which fields, objects and lists, are empty; `{}` for a text that is no JSON. */
export function dataWithEmpty(fields: readonly string[]): string {
  const names = fields.map((field) => `'${field}'`).join(', ');
  const value = `multiIf(NOT has([${names}], one.1), one.2, startsWith(one.2, '['), '[]', '{}')`;
  return `concat('{', arrayStringConcat(arrayMap(one -> concat('"', one.1, '":', ${value}), JSONExtractKeysAndValuesRaw(data)), ','), '}')`;
}

/** The column has exactly this value. */
export function equals(column: string, value: string, parameter = `${column}_is`): SqlCondition {
  // NUL cannot be sent in a query parameter, and no stored text contains it.
  if (value.includes('\0')) return NOTHING;
  return { sql: `${column} = {${parameter}:String}`, values: { [parameter]: storableText(value) } };
}

/** The column has this value, ignoring upper and lower case. */
export function equalsIgnoringCase(column: string, value: string, parameter = `${column}_is`): SqlCondition {
  if (value.includes('\0')) return NOTHING;
  return {
    sql: `lowerUTF8(${column}) = lowerUTF8({${parameter}:String})`,
    values: { [parameter]: storableText(value) },
  };
}

/** The column has one of the values; with `isExcluded` it has none of them. */
export function isOneOf(column: string, values: readonly string[], isExcluded = false): SqlCondition {
  const possible = values.filter((value) => !value.includes('\0')).map(storableText);
  const [operator, parameter] = isExcluded ? ['NOT IN', `${column}_out`] : ['IN', `${column}_in`];
  return { sql: `${column} ${operator} {${parameter}:Array(String)}`, values: { [parameter]: possible } };
}

/** At least one of the columns contains the text, ignoring upper and lower case. */
export function contains(columns: readonly string[], text: string, parameter = 'search'): SqlCondition {
  if (text.includes('\0')) return NOTHING;
  const sql = columns.map((column) => `positionCaseInsensitiveUTF8(${column}, {${parameter}:String}) > 0`).join(' OR ');
  return { sql, values: { [parameter]: storableText(text) } };
}

/**
 * Like {@link contains}, for a column with a domain or short link. Its parts outside ASCII are stored in punycode, so such a part is found
 * only as a whole.
 */
export function addressContains(column: string, text: string): SqlCondition {
  const asGiven = contains([column], text);
  const stored = storedAddressTexts(text);
  if (asGiven === NOTHING || stored.length === 0) return asGiven;
  return anyOf([
    asGiven,
    {
      sql: `multiSearchAnyCaseInsensitive(${column}, {search_stored:Array(String)})`,
      values: { search_stored: stored },
    },
  ]);
}

/** At least one of the conditions holds. */
export function anyOf(conditions: readonly SqlCondition[]): SqlCondition {
  const possible = conditions.filter((condition) => condition !== NOTHING);
  if (possible.length === 0) return NOTHING;
  const sql = possible.map((condition) => `(${condition.sql})`).join(' OR ');
  return { sql, values: valuesOf(possible) };
}

/** The numbers of public ids, without texts that are not ids of that kind, and without 0, which stands for "none" in columns. */
function numbersOf(resource: ResourceKind, ids: readonly string[]): bigint[] {
  return ids.map((id) => BigInt(parseResourceId(resource, id) ?? 0)).filter((number) => number !== 0n);
}

/** The column has the number of one of the public ids. Texts that are not ids of that kind match nothing. */
export function hasId(column: string, resource: ResourceKind, ids: readonly string[]): SqlCondition {
  const numbers = numbersOf(resource, ids);
  if (numbers.length === 0) return NOTHING;
  return { sql: `${column} IN ({${column}_ids:Array(UInt64)})`, values: { [`${column}_ids`]: numbers } };
}

/** The column, which has a set of ids, has at least one of these public ids. Texts that are not ids of that kind match nothing. */
export function hasAnyId(column: string, resource: ResourceKind, ids: readonly string[]): SqlCondition {
  const numbers = numbersOf(resource, ids);
  if (numbers.length === 0) return NOTHING;
  return { sql: `hasAny(${column}, {${column}_ids:Array(UInt64)})`, values: { [`${column}_ids`]: numbers } };
}

/** As {@link equals}, for a field with the text of a public id. Texts that are not ids of that kind match nothing. */
export function equalsId(column: string, resource: ResourceKind, id: string, parameter: string): SqlCondition {
  return parseResourceId(resource, id) === undefined ? NOTHING : equals(column, id, parameter);
}

/** The condition for the value of a filter; none when the filter is undefined. */
export function ifDefined<T>(value: T | undefined, condition: (value: T) => SqlCondition): SqlCondition[] {
  return value === undefined ? [] : [condition(value)];
}
