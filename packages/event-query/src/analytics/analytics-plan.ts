import type { QuerySettings } from '../sql/read-limits.js';
import type { ColumnName, Condition, TableRead, Value } from '../sql/sql-nodes.js';
import type { Measure } from './groupings.js';

/** What rows are grouped by. */
export type GroupKey =
  | { readonly type: 'column'; readonly column: ColumnName }
  /** The last of the instants (epoch milliseconds, ascending) that is not after the row's time. */
  | { readonly type: 'bucket'; readonly column: 'timestamp' | 'slot'; readonly starts: Value };

/** What is added up for a measure. A measure that a read does not have is 0. */
export type Counted =
  | { readonly type: 'rows' }
  | { readonly type: 'sum'; readonly column: ColumnName }
  | { readonly type: 'zero' };

/** Groups of one table. */
export interface GroupedRead {
  readonly read: Omit<TableRead, 'columns'>;
  readonly keys: readonly GroupKey[];
  /** Which groups there are: asked of each group, not of each row (27 against 38 ms for the countries of a million clicks). */
  readonly isGroup: readonly Condition[];
  readonly counted: readonly Counted[];
  /** Of how many links the rows are, as far as it is known. */
  readonly links: number | undefined;
  /** Its numbers are taken away from those of the other reads. */
  readonly isTakenAway: boolean;
}

/** A step from ids to the column of the rows that have them. */
export interface OwnerRead {
  readonly read: TableRead;
  readonly column: ColumnName;
  readonly isList: boolean;
}

/** Groups of several reads added up: a group that any of them has appears. */
export interface AnalyticsPlan {
  readonly workspace: bigint;
  readonly reads: readonly [GroupedRead, ...GroupedRead[]];
  /** The columns of numbers, after those of the group. */
  readonly measures: readonly Measure[];
  readonly owners: readonly OwnerRead[];
  /** The biggest groups first, equal ones by their value; undefined = no order, and all groups. */
  readonly biggest: { readonly by: Measure; readonly limit: bigint } | undefined;
  readonly settings: QuerySettings;
}
