import { parseResourceId, type ResourceKind } from '@waymark/contract';
import type { QueryParameters } from '../clickhouse/query-rows.js';
import { storableText } from '../model/storable-text.js';

/** A condition of a list: constant SQL over the type's columns, with values only as parameters. */
export interface Condition {
  readonly sql: string;
  readonly values: QueryParameters;
}

/** Nothing is listed. */
const NOTHING: Condition = { sql: '0', values: {} };

/**
 * Builders of conditions. Columns are constants of the code. A parameter is named after its column, so that a list may have one
 * condition of each sort for a column.
 */

/** A text of a record that has no column of its own. */
export const dataText = (field: string): string => `JSONExtractString(data, '${field}')`;

export function equals(column: string, value: string, parameter = `${column}_is`): Condition {
  // NUL cannot travel in a query parameter, and no stored text contains it.
  if (value.includes('\0')) return NOTHING;
  return { sql: `${column} = {${parameter}:String}`, values: { [parameter]: storableText(value) } };
}

/** As {@link equals}, in any case. */
export function equalsInAnyCase(column: string, value: string, parameter = `${column}_is`): Condition {
  if (value.includes('\0')) return NOTHING;
  return {
    sql: `lowerUTF8(${column}) = lowerUTF8({${parameter}:String})`,
    values: { [parameter]: storableText(value) },
  };
}

export function isOneOf(column: string, values: readonly string[], isExcluded = false): Condition {
  const possible = values.filter((value) => !value.includes('\0')).map(storableText);
  const [operator, parameter] = isExcluded ? ['NOT IN', `${column}_out`] : ['IN', `${column}_in`];
  return { sql: `${column} ${operator} {${parameter}:Array(String)}`, values: { [parameter]: possible } };
}

/** One of the columns contains the text, in any case. */
export function contains(columns: readonly string[], text: string): Condition {
  if (text.includes('\0')) return NOTHING;
  const sql = columns.map((column) => `positionCaseInsensitiveUTF8(${column}, {search:String}) > 0`).join(' OR ');
  return { sql, values: { search: storableText(text) } };
}

/** One of the conditions holds. */
export function anyOf(conditions: readonly Condition[]): Condition {
  const sql = conditions.map((condition) => `(${condition.sql})`).join(' OR ');
  return { sql, values: Object.assign({}, ...conditions.map(({ values }) => values)) };
}

/** The column is the number of one of those public ids; texts that are no ids match nothing. */
export function hasId(column: string, resource: ResourceKind, ids: readonly string[]): Condition {
  const numbers = ids.flatMap((id) => parseResourceId(resource, id) ?? []).map(BigInt);
  return { sql: `${column} IN ({${column}_ids:Array(UInt64)})`, values: { [`${column}_ids`]: numbers } };
}

/** The conditions whose filter is given. */
export function given<T>(value: T | undefined, condition: (value: T) => Condition): Condition[] {
  return value === undefined ? [] : [condition(value)];
}
