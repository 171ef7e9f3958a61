import { randomUUID } from 'node:crypto';
import { pipeRows, type RowSums, readRowSums } from '../rows/pipe-rows.js';
import { COPY_QUORUM_INSERT } from '../rows/replicated.js';
import type { ShardNode } from './cluster-nodes.js';
import { isOfLogicalShard } from './placement.js';

/**
 * Rows that were deleted are inserted again, after a change of their month or when a logical shard moves back. The token of its own is for servers
 * that ignore `insert_deduplicate = 0` and would drop a block like an earlier one: those from 26 on, where `deduplicate_insert` comes first.
 */
const NOT_DEDUPLICATED = { insert_deduplicate: 0 } as const;

/** The `log_comment` of the inserts of `npx waymark shards move`. */
const SHARD_MOVE_COMMENT = 'waymark shards move';

/** The properties of a table that a copy depends on. */
interface Shape {
  /** Name of the `Distributed` table. */
  readonly table: string;
  readonly columns: string;
  /** Rows with equal keys are merged into one. */
  readonly isMerging: boolean;
}

/** The rows of one logical shard in a table, or in one month of a table of events. */
export interface RowSet extends Shape {
  readonly where: string;
}

/** The shapes of the tables of a node, by the name of the `Distributed` table. */
export async function readShapes({ client }: ShardNode): Promise<ReadonlyMap<string, Shape>> {
  const rows = await client.rows<[table: string, engine: string, columns: string[]]>({
    query: `SELECT t.name, any(t.engine), groupArray(c.name)
      FROM (
        SELECT table, name FROM system.columns
        WHERE database = currentDatabase() AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY table, position
      ) AS c
      INNER JOIN (SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND name LIKE '%_local') AS t
        ON t.name = c.table
      GROUP BY t.name`,
  });
  return new Map(
    rows.map(([local, engine, columns]) => {
      const table = local.slice(0, -'_local'.length);
      return [table, { table, columns: columns.join(', '), isMerging: !/^(?:Replicated)?MergeTree$/.test(engine) }];
    }),
  );
}

/** The fingerprint of rows on a node, as queries see them. */
function sumsOf({ client }: ShardNode, { table, columns, isMerging, where }: RowSet): Promise<RowSums> {
  return readRowSums(client, columns, `${table}_local${isMerging ? ' FINAL' : ''}`, where);
}

/**
 * Divides the rows of a logical shard in a table on a node into sets, each of which is compared and copied by itself: the months of a table of
 * events, all rows of any other table.
 */
export async function rowSetsOf(node: ShardNode, shape: Shape, logical: number): Promise<RowSet[]> {
  const { table } = shape;
  const where = isOfLogicalShard(table, logical);
  if (!/_events$/.test(table)) return [{ ...shape, where }];
  const months = await node.client.rows<[number]>({
    query: `SELECT DISTINCT toYYYYMM(timestamp) AS month FROM ${table}_local WHERE ${where} ORDER BY month`,
  });
  return months.map(([month]) => ({ ...shape, where: `${where} AND toYYYYMM(timestamp) = ${month}` }));
}

/**
 * Deletes rows on a node and on the other replicas of its shard: no read returns them any more. They stay in the files until
 * `removeDeletedRows`.
 */
export async function deleteRows(
  { client }: ShardNode,
  { table, where }: Pick<RowSet, 'table' | 'where'>,
): Promise<void> {
  await client.command({ query: `DELETE FROM ${table}_local WHERE ${where}` });
}

function insertSet(from: ShardNode, to: ShardNode, { table, columns, where }: RowSet): Promise<void> {
  return pipeRows(
    {
      client: from.client,
      query: `SELECT ${columns} FROM ${table}_local WHERE ${where}`,
      settings: { date_time_output_format: 'simple', max_result_bytes: '0' },
    },
    {
      client: to.client,
      table: `${table}_local`,
      columns,
      settings: {
        ...COPY_QUORUM_INSERT,
        ...NOT_DEDUPLICATED,
        insert_deduplication_token: randomUUID(),
        log_comment: SHARD_MOVE_COMMENT,
      },
    },
  );
}

/**
 * Makes the rows of a set the same on two nodes: compares them, and if they differ, deletes those of `to` and copies those of `from`. May
 * be repeated.
 *
 * @returns the number of rows on `from`, and whether both nodes have the same rows now; they may differ if rows were inserted meanwhile
 */
export async function copyRows(
  from: ShardNode,
  to: ShardNode,
  set: RowSet,
): Promise<{ readonly rows: number; readonly isSame: boolean }> {
  const isSame = (one: RowSums, other: RowSums) => one.rows === other.rows && one.checksum === other.checksum;
  const wanted = await sumsOf(from, set);
  let found = await sumsOf(to, set);
  if (!isSame(wanted, found)) {
    if (found.rows !== '0') await deleteRows(to, set);
    await insertSet(from, to, set);
    found = await sumsOf(to, set);
  }
  return { rows: Number(wanted.rows), isSame: isSame(wanted, found) };
}
