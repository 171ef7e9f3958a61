import { parseResourceId, type ResourceKind } from '@waymark/contract';
import type { ColumnName, Condition } from '../sql/sql-nodes.js';

/** Builds the condition that a column has one of the values; undefined when none of the values can exist. */
export type Matcher = (values: readonly string[]) => Condition | undefined;

/** Matches a column of texts that has one of the values. */
export function textIn(column: ColumnName) {
  return (values: readonly string[]): Condition => ({
    type: 'in',
    column,
    isFolded: false,
    values: { type: 'Array(String)', value: values },
  });
}

/** Compares case-insensitively (A-Z only). The values must already be in lower case. */
export function foldedTextIn(column: ColumnName) {
  return (values: readonly string[]): Condition => ({
    type: 'in',
    column,
    isFolded: true,
    values: { type: 'Array(String)', value: values },
  });
}

/** The numbers behind public ids. Skips invalid ids, and 0, which means "none". */
export function numbersOf(kind: ResourceKind, ids: readonly string[]): bigint[] {
  const numbers = ids.map((id) => BigInt(parseResourceId(kind, id) ?? 0)).filter((number) => number !== 0n);
  return [...new Set(numbers)];
}

/** Matches a column of ids that has one of the given public ids. */
export function idIn(column: ColumnName, kind: ResourceKind): Matcher {
  return (ids) => {
    const numbers = numbersOf(kind, ids);
    if (numbers.length === 0) return undefined;
    return { type: 'in', column, isFolded: false, values: { type: 'Array(UInt64)', value: numbers } };
  };
}

/** Matches a column that is an array of ids and contains any of the given public ids. */
export function anyIdIn(column: ColumnName, kind: ResourceKind): Matcher {
  return (ids) => {
    const numbers = numbersOf(kind, ids);
    return numbers.length === 0
      ? undefined
      : { type: 'hasAny', column, values: { type: 'Array(UInt64)', value: numbers } };
  };
}
