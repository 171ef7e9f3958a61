import { groupBy } from '@waymark/contract';
import type { ClickHouseClient } from '../client.js';
import { shardedTables } from './apply-placement.js';
import { connectNodes } from './cluster-nodes.js';

/** A table of a shard from whose files deleted rows were removed. */
export interface RewrittenTable {
  readonly shard: number;
  readonly table: string;
}

/**
 * Removes from the files of all shards the rows that moves have deleted. Moves only mark them, because to remove them means to rewrite each part
 * that has any: once after many moves, not after each. Parts are found by their marks, so a repeat does what a killed call has left.
 *
 * @param onBegin called before a table is rewritten
 */
export async function removeDeletedRows(
  client: ClickHouseClient,
  { cluster, onBegin }: { readonly cluster: string; readonly onBegin?: (table: RewrittenTable) => void },
): Promise<RewrittenTable[]> {
  const nodes = await connectNodes(client, cluster);
  const rewritten: RewrittenTable[] = [];
  try {
    const sharded = (await shardedTables(client)).map((table) => `${table}_local`);
    for (const [shard, replicas] of groupBy(nodes, (node) => node.shard)) {
      const tables = new Set<string>();
      for (const replica of replicas) {
        const rows = await replica.client.rows<[string]>({
          query: `SELECT DISTINCT table FROM system.parts
            WHERE database = currentDatabase() AND active AND has_lightweight_delete AND table IN ({sharded:Array(String)}) ORDER BY table`,
          parameters: { sharded },
        });
        for (const [table] of rows) tables.add(table);
      }
      for (const table of tables) {
        onBegin?.({ shard, table });
        await replicas[0]?.client.command({
          query: `ALTER TABLE ${table} APPLY DELETED MASK`,
          clickhouse_settings: { mutations_sync: '2' },
        });
        rewritten.push({ shard, table });
      }
    }
    return rewritten;
  } finally {
    await Promise.all(nodes.map((node) => node.client.close()));
  }
}
