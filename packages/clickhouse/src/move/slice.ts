import type { TableShape, TypedExpression } from './table-shape.js';

/**
 * Neighbouring rows of one partition: those whose sorting key is greater than `above`, and at most `upTo`. An empty list stands for no
 * bound. `partition`, `above` and `upTo` have the value of each key expression as text in hexadecimal digits; see {@link valueSql}.
 */
export interface Slice {
  /** Number within the table, from 0. */
  readonly number: number;
  readonly partition: readonly string[];
  readonly above: readonly string[];
  readonly upTo: readonly string[];
}

/** SQL that reads the value of an expression in the form that {@link Slice} has. */
export function valueSql({ sql }: TypedExpression): string {
  return `hex(toString(${sql}))`;
}

function literal(value: string, { type }: TypedExpression): string {
  if (!/^[0-9A-F]*$/.test(value)) throw new Error('a bound of a slice is not hexadecimal');
  return `CAST(unhex('${value}'), '${type.replace(/[\\']/g, '\\$&')}')`;
}

/** The condition for the rows of a partition. */
export function isIn(partition: readonly string[], { partitionKey }: TableShape): string {
  const [value] = partition;
  if (partitionKey === undefined || value === undefined) return '1';
  return `${partitionKey.sql} = ${literal(value, partitionKey)}`;
}

/**
 * The condition that compares a key with values, column by column. A comparison of tuples would be shorter, but for it ClickHouse reads all
 * rows instead of using the index.
 */
function compared(
  key: readonly TypedExpression[],
  values: readonly string[],
  operator: '>' | '<',
  orEqual: boolean,
): string {
  const [column, ...columns] = key;
  const [value, ...rest] = values;
  if (column === undefined || value === undefined) return orEqual ? '1' : '0';
  const bound = literal(value, column);
  return `(${column.sql} ${operator} ${bound} OR (${column.sql} = ${bound} AND ${compared(columns, rest, operator, orEqual)}))`;
}

/** The condition for the rows of a slice. */
export function conditionOf({ partition, above, upTo }: Slice, shape: TableShape): string {
  const { sortingKey, kept } = shape;
  return [
    isIn(partition, shape),
    above.length === 0 ? '1' : compared(sortingKey, above, '>', false),
    upTo.length === 0 ? '1' : compared(sortingKey, upTo, '<', true),
    kept,
  ]
    .filter((condition) => condition !== '1')
    .map((condition) => `(${condition})`)
    .concat('1')
    .join(' AND ');
}
