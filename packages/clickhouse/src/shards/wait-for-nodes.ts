import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '../client.js';
import type { ShardNode } from './cluster-nodes.js';

const POLL_MS = 100;

/** Waits until a query returns no rows. */
export async function untilEmpty(
  client: ClickHouseClient,
  query: string,
  parameters: Record<string, unknown>,
): Promise<void> {
  while ((await client.rows({ query, parameters })).length > 0) await delay(POLL_MS);
}

/** Waits until the statements of a kind that run on the nodes at the time of the call have ended. */
export async function untilEnded(nodes: readonly ShardNode[], kind: 'Insert' | 'Select'): Promise<void> {
  await Promise.all(
    nodes.map(async ({ client }) => {
      const others = 'query_kind = {kind:String} AND query NOT LIKE {own:String}';
      const running = await client.rows<[string]>({
        query: `SELECT query_id FROM system.processes WHERE ${others}`,
        parameters: { kind, own: '%FROM system.processes%' },
      });
      const ids = running.map(([id]) => id);
      if (ids.length === 0) return;
      await untilEmpty(client, 'SELECT 1 FROM system.processes WHERE query_id IN {ids:Array(String)} LIMIT 1', { ids });
    }),
  );
}

/** Waits until a server has all rows of a table that the other replicas of its shard have. */
export async function untilCaughtUp({ client }: ShardNode, table: string): Promise<void> {
  const rows = await client.rows<[string]>({
    query: `SELECT name FROM system.tables
      WHERE database = currentDatabase() AND name = {name:String} AND engine LIKE 'Replicated%'`,
    parameters: { name: `${table}_local` },
  });
  if (rows.length > 0) await client.command({ query: `SYSTEM SYNC REPLICA ${table}_local` });
}
