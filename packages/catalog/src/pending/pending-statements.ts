import { chunksOf } from '@waymark/contract';
import type { RowValue } from '@waymark/event-format';
import type { QueryParameters } from '../clickhouse/query-rows.js';
import { andAll, type SqlCondition, valuesOf } from '../lists/list-conditions.js';
import type { CatalogRecord, EntityType, QueuedEntityType } from '../model/entity-type.js';
import { columnValue, numberOf } from '../model/entity-type.js';

/** Maximum number of records in one statement, because their values are sent in its URL. */
const RECORDS_PER_READ = 100;

/** A statement and its parameter values. */
interface Statement {
  readonly query: string;
  readonly parameters: QueryParameters;
}

/** Converts the values of a column for a query parameter of that type. */
function parameterOf(type: 'String' | 'UInt64', values: readonly RowValue[]): readonly string[] | readonly bigint[] {
  const texts = values.map((value) => String(columnValue(value)));
  return type === 'String' ? texts : texts.map(BigInt);
}

/**
 * Builds the statements that return the ids of those records that meet the conditions and have no row in the table, not even the row of a
 * removal. The columns of the records are computed as for the rows of the table.
 */
export function pendingStatements<R extends CatalogRecord>(
  kind: EntityType<R>,
  { columnTypes, listed }: QueuedEntityType<R>,
  workspaceId: string,
  records: readonly R[],
  conditions: readonly SqlCondition[],
): Statement[] {
  const columns = Object.entries(columnTypes);
  const arrays = [
    '{pending_id:Array(UInt64)} AS id',
    ...columns.map(([name, type]) => `{pending_${name}:Array(${type})} AS ${name}`),
    '{pending_data:Array(String)} AS data',
  ];
  const query = `SELECT id FROM
(SELECT ${['id', ...columns.map(([name]) => name), 'data'].join(', ')} FROM (SELECT 1) ARRAY JOIN ${arrays.join(', ')})
WHERE id NOT IN (SELECT id FROM ${kind.table} WHERE workspace_id = {workspace:UInt64} AND id IN ({pending_id:Array(UInt64)}))
${andAll(conditions)}`;

  return Array.from(chunksOf(records, RECORDS_PER_READ), (some) => ({
    query,
    parameters: {
      ...valuesOf(conditions),
      ...Object.fromEntries(
        columns.map(([name, type]) => {
          const column = kind.columns[name];
          if (column === undefined) throw new TypeError(`${kind.table} has no column ${name}`);
          return [`pending_${name}`, parameterOf(type, some.map(column))];
        }),
      ),
      workspace: numberOf('workspace', workspaceId),
      pending_id: some.map(({ id }) => BigInt(numberOf(kind.resource, id))),
      pending_data: some.map((record) => String(columnValue(JSON.stringify(listed(record))))),
    },
  }));
}
