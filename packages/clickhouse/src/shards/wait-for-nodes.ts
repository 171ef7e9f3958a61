import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '../client.js';
import type { ShardNode } from './cluster-nodes.js';

const POLL_MS = 100;
const MUTATION_POLL_MS = 1000;

/** A mutation that a server has not done yet. */
export interface RunningMutation {
  /** Name of the server, see `ShardNode`. */
  readonly server: string;
  readonly table: string;
  /** The latest error; empty if it has not failed. */
  readonly error: string;
}

/**
 * Waits until the nodes have no mutation of the tables that is not done.
 *
 * @param assertHeld called about once a second; throws when the wait makes no sense any more
 * @param onWait called about once a second with those that are left
 */
export async function untilMutated({
  nodes,
  tables,
  assertHeld,
  onWait,
}: {
  readonly nodes: readonly ShardNode[];
  readonly tables: readonly string[];
  readonly assertHeld: () => void;
  readonly onWait: ((running: readonly RunningMutation[]) => void) | undefined;
}): Promise<void> {
  for (;;) {
    assertHeld();
    const running = await Promise.all(
      nodes.map(async ({ client, name }) => {
        const rows = await client.rows<[table: string, error: string]>({
          query: `SELECT table, max(latest_fail_reason) FROM system.mutations
            WHERE database = currentDatabase() AND NOT is_done AND table IN ({tables:Array(String)}) GROUP BY table ORDER BY table`,
          parameters: { tables },
        });
        return rows.map(([table, error]) => ({ server: name, table, error }));
      }),
    );
    if (running.flat().length === 0) return;
    onWait?.(running.flat());
    await delay(MUTATION_POLL_MS);
  }
}

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
