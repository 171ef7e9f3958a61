import type { SortOrder } from '@waymark/contract';
import type { QueryParameters } from '../clickhouse/query-rows.js';
import { andAll, type SqlCondition } from './list-conditions.js';

/** The first rows of a list in the order of creation, as SQL: the newest rows of a workspace in a table, or the oldest. */
export interface FirstRows {
  /** How many rows are read. */
  readonly count: number;
  /** The expression of a WITH clause that defines `first`: the id at the end of these rows, and their number. */
  readonly definition: string;
  /** The condition that a record is one of them. */
  readonly condition: string;
  /** An expression: 1 if the workspace has no other rows, so that nothing was left out. */
  readonly isAll: string;
  readonly parameters: QueryParameters;
}

/** Rows that are read in addition to the page, because some are older versions of records, or records that are not listed. */
const SPARE = 300;

/** Whether the first page can be expected among the first rows: unless there is a condition that only few records may meet. */
export function mayBeAmongFirst(conditions: readonly SqlCondition[]): boolean {
  return conditions.every(({ selects }) => selects !== undefined);
}

/**
 * The rows in which to look for the first `end` records of a table that meet the conditions. A read with FINAL reads all rows of the
 * workspace unless its ids have a bound.
 */
export function firstRows(
  table: string,
  conditions: readonly SqlCondition[],
  order: SortOrder,
  end: number,
): FirstRows {
  // More rows than records, because a record has a row for each of its versions.
  const count = 2 * end + SPARE;
  const [direction, lastId, operator] = order === 'desc' ? ['DESC', 'min(id)', '>='] : ['ASC', 'max(id)', '<='];
  const ranges = conditions.filter(({ selects }) => selects === 'ids');
  return {
    count,
    definition: `(SELECT (${lastId}, count()) FROM (SELECT id FROM ${table}
WHERE workspace_id = {workspace:UInt64} ${andAll(ranges)}
ORDER BY workspace_id ${direction}, id ${direction} LIMIT {first_rows:UInt64})) AS first`,
    condition: `id ${operator} first.1`,
    isAll: 'first.2 < {first_rows:UInt64}',
    parameters: { first_rows: count },
  };
}
