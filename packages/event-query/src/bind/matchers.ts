import { parseResourceId, type ResourceKind } from '@waymark/contract';
import type { ColumnName, Condition } from '../sql/sql-nodes.js';

/** The condition that a column has any of the values; undefined when none of them can exist. */
export type Matcher = (values: readonly string[]) => Condition | undefined;

export function textIn(column: ColumnName) {
  return (values: readonly string[]): Condition => ({
    type: 'in',
    column,
    isFolded: false,
    values: { type: 'Array(String)', value: values },
  });
}

/** Without regard to the case of A-Z; the values are folded already. */
export function foldedTextIn(column: ColumnName) {
  return (values: readonly string[]): Condition => ({
    type: 'in',
    column,
    isFolded: true,
    values: { type: 'Array(String)', value: values },
  });
}

/** The numbers behind public ids; texts that are no such id are left out, and so is 0, which stands for "none". */
export function numbersOf(kind: ResourceKind, ids: readonly string[]): bigint[] {
  const numbers = ids.map((id) => BigInt(parseResourceId(kind, id) ?? 0)).filter((number) => number !== 0n);
  return [...new Set(numbers)];
}

export function idIn(column: ColumnName, kind: ResourceKind): Matcher {
  return (ids) => {
    const numbers = numbersOf(kind, ids);
    if (numbers.length === 0) return undefined;
    return { type: 'in', column, isFolded: false, values: { type: 'Array(UInt64)', value: numbers } };
  };
}

/** The column is a list of ids and has any of them. */
export function anyIdIn(column: ColumnName, kind: ResourceKind): Matcher {
  return (ids) => {
    const numbers = numbersOf(kind, ids);
    return numbers.length === 0
      ? undefined
      : { type: 'hasAny', column, values: { type: 'Array(UInt64)', value: numbers } };
  };
}
