import type { ClickHouseClient } from '../client.js';
import { bookkeepingTables } from '../migrations/bookkeeping.js';
import { takeSchemaLease } from '../migrations/schema-lease.js';
import { placeTables, shardedTables, tablesPlacedOtherwise } from './apply-placement.js';
import { connectNodes, type ShardNode } from './cluster-nodes.js';
import { copyRows, deleteRows, readShapes, rowSetsOf } from './copy-shard-rows.js';
import { isOfLogicalShard, LOGICAL_SHARDS } from './placement.js';
import { readPlacement, type UnfinishedMove, writePlacement } from './placement-store.js';
import { type RunningMutation, untilCaughtUp, untilEnded, untilMutated } from './wait-for-nodes.js';

/** The move that was requested is not possible. The message says why. */
export class ShardMoveError extends Error {
  override readonly name: string = 'ShardMoveError';
}

/** The logical shard is on the requested shard already, as after a move by another process for whose end this one has waited. */
export class ShardThereError extends ShardMoveError {
  override readonly name = 'ShardThereError';
}

/** Options of {@link moveShard}. */
export interface ShardMoveOptions {
  readonly cluster: string;
  /** Number of the logical shard to move. */
  readonly logical: number;
  /** The shard of the cluster to move to, from 1. */
  readonly to: number;
  /** Called about once a second while the move waits for mutations, with those that are left. */
  readonly onWait?: ((running: readonly RunningMutation[]) => void) | undefined;
}

/** A finished move. */
export interface ShardMoveReport {
  readonly logical: number;
  readonly from: number;
  readonly to: number;
  /** Number of copied rows by table; tables without rows are absent, as are all after a move that an earlier run had copied. */
  readonly rows: Readonly<Record<string, number>>;
}

/** Name of the constraint by which tables refuse rows of a logical shard while it is moved. */
const FENCE = 'shard_is_moved';

/** Removes the fence from those tables of a server, and of the other replicas of its shard, that have it. */
async function liftFence({ client }: ShardNode, assertHeld: () => void): Promise<void> {
  const fenced = await client.rows<[string]>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND create_table_query LIKE '%CONSTRAINT ${FENCE} %'
      ORDER BY name`,
  });
  for (const [table] of fenced) {
    assertHeld();
    await client.command({
      query: `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${FENCE}`,
      clickhouse_settings: { alter_sync: '2' },
    });
  }
}

/** Tables whose rows never change. Reads of them always name a workspace, so rows left at the old shard are not seen. */
const isEvents = (table: string) => table.endsWith('_events');

/**
 * Moves a logical shard to another shard of the cluster (docs/runbooks/adding-a-shard.md). It copies events while everything runs. Then
 * both shards refuse new rows of the logical shard, so that writers wait, until the rest is copied and compared, and every server reads
 * from the new shard. It may be killed at any time: the same call continues. Every server of the cluster must run. Before it copies, it waits
 * for the mutations of both shards: what they delete or change would be copied as it was. `betweenMoves` starts none until the move is finished.
 *
 * @throws ShardMoveError when the move is not possible; Error when copied rows differ or a server does not follow: the same call continues
 */
export async function moveShard(client: ClickHouseClient, options: ShardMoveOptions): Promise<ShardMoveReport> {
  const { cluster } = options;
  const lease = await takeSchemaLease(client, { cluster });
  let nodes: readonly ShardNode[] = [];
  try {
    nodes = await connectNodes(client, cluster);
    // Servers execute statements ON CLUSTER one after the other, so this one waits for a mutation that a server has still to begin.
    for (const query of bookkeepingTables({ cluster }).slice(0, 1)) await client.command({ query });
    const assertHeld = () => lease.assertHeld();
    const move = await begin(client, options, nodes, assertHeld);
    return await new ShardMove(client, options, nodes, move, assertHeld).run();
  } finally {
    await Promise.all(nodes.map((node) => node.client.close()));
    await lease.release().catch(() => undefined);
  }
}

/**
 * Stores the beginning of a new move, or returns the unfinished one if it is the same. Before a new one it removes fences that are left: a command
 * that stood still and had lost its lease may have added one after another command had finished its move.
 *
 * @throws ShardMoveError
 */
async function begin(
  client: ClickHouseClient,
  { cluster, logical, to }: ShardMoveOptions,
  nodes: readonly ShardNode[],
  assertHeld: () => void,
): Promise<UnfinishedMove> {
  const stored = await readPlacement(client, { cluster });
  if (stored === undefined) throw new ShardMoveError('the cluster has no placement yet: run `npx waymark migrate up`');
  const { move } = stored;
  if (move !== undefined) {
    if (move.logical === logical && move.to === to) return move;
    throw new ShardMoveError(
      `the move of logical shard ${move.logical} to shard ${move.to} is not finished: \`npx waymark shards move ${move.logical} --to ${move.to}\` continues it`,
    );
  }
  const from = stored.shards[logical];
  if (from === undefined) throw new ShardMoveError(`logical shards are 0 to ${LOGICAL_SHARDS - 1}`);
  if (!nodes.some(({ shard }) => shard === to)) throw new ShardMoveError(`the cluster ${cluster} has no shard ${to}`);
  for (const node of nodes) await liftFence(node, assertHeld);
  if (from === to) throw new ShardThereError(`logical shard ${logical} is on shard ${to} already`);
  await writePlacement(client, { cluster }, { logical, shard: from, other: to, step: 'copying' });
  return { logical, from, to, step: 'copying' };
}

/**
 * The tables that materialized views fill. They need no fence: an insert is refused by the table that it names, and must not be refused by
 * the table of a view after the first table has accepted it. Erasures, which insert into them as well, do not begin while a move is unfinished.
 */
async function filledByViews(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const rows = await client.rows<[string]>({
    query: `SELECT DISTINCT extract(create_table_query, ' TO (?:\\S+\\.)?(\\w+)_local ') FROM system.tables
      WHERE database = currentDatabase() AND engine = 'MaterializedView'`,
  });
  return new Set(rows.map(([table]) => table));
}

class ShardMove {
  readonly #client: ClickHouseClient;
  readonly #options: ShardMoveOptions;
  readonly #nodes: readonly ShardNode[];
  readonly #move: UnfinishedMove;
  readonly #assertHeld: () => void;
  #shapes: Awaited<ReturnType<typeof readShapes>> | undefined;

  constructor(
    client: ClickHouseClient,
    options: ShardMoveOptions,
    nodes: readonly ShardNode[],
    move: UnfinishedMove,
    assertHeld: () => void,
  ) {
    this.#client = client;
    this.#options = options;
    this.#nodes = nodes;
    this.#move = move;
    this.#assertHeld = assertHeld;
  }

  async run(): Promise<ShardMoveReport> {
    const { logical, from, to, step } = this.#move;
    // Events first: the views of the new shard add them to its totals, which are then replaced by the totals of the old shard.
    const tables = await shardedTables(this.#client);
    const events = tables.filter(isEvents);
    const others = tables.filter((table) => !isEvents(table));
    const ofViews = await filledByViews(this.#client);
    const written = tables.filter((table) => !ofViews.has(table));
    const rows: Record<string, number> = {};
    if (step === 'copying') {
      await untilMutated({
        nodes: [...this.#replicasOf(from), ...this.#replicasOf(to)],
        tables: tables.map((table) => `${table}_local`),
        assertHeld: this.#assertHeld,
        onWait: this.#options.onWait,
      });
      await this.#liftFence(to);
      await untilEnded(this.#replicasOf(to), 'Insert');
      for (const table of events) await this.#copy(table);
      await this.#fence(from, written);
      for (const table of [...events, ...others]) {
        const copied = await this.#copy(table);
        if (!copied.isSame)
          throw new Error(`the rows of ${table} differ after they were copied: run the command again`);
        if (copied.rows > 0) rows[table] = copied.rows;
      }
    }
    // Tables are switched one after the other. Meanwhile neither shard takes rows, so that reads of both return the same.
    await this.#fence(to, written);
    if (step === 'copying') await this.#recordStep({ logical, shard: to, other: from, step: 'switching' });
    await this.#switch();
    await this.#delete(others);
    await this.#liftFence(from);
    await this.#liftFence(to);
    await this.#delete(events);
    await this.#recordStep({ logical, shard: to, other: 0, step: '' });
    return { logical, from, to, rows };
  }

  /** The replicas of a shard. */
  #replicasOf(shard: number): readonly ShardNode[] {
    return this.#nodes.filter((node) => node.shard === shard);
  }

  /** The first replica of a shard. */
  #firstReplicaOf(shard: number): ShardNode {
    const node = this.#replicasOf(shard)[0];
    if (node === undefined) throw new ShardMoveError(`the cluster ${this.#options.cluster} has no shard ${shard}`);
    return node;
  }

  async #recordStep(row: Parameters<typeof writePlacement>[2]): Promise<void> {
    this.#assertHeld();
    await writePlacement(this.#client, { cluster: this.#options.cluster }, row);
  }

  async #copy(table: string): Promise<{ rows: number; isSame: boolean }> {
    const [from, to] = [this.#firstReplicaOf(this.#move.from), this.#firstReplicaOf(this.#move.to)];
    const total = { rows: 0, isSame: true };
    await untilCaughtUp(from, table);
    await untilCaughtUp(to, table);
    this.#shapes ??= await readShapes(from);
    const shape = this.#shapes.get(table);
    if (shape === undefined) throw new Error(`${from.name} has no table ${table}_local`);
    for (const set of await rowSetsOf(from, shape, this.#move.logical)) {
      this.#assertHeld();
      const copied = await copyRows(from, to, set);
      total.rows += copied.rows;
      total.isSame &&= copied.isSame;
    }
    return total;
  }

  /** Makes the tables of a shard refuse rows of the logical shard, and waits until inserts that began before have ended. */
  async #fence(shard: number, tables: readonly string[]): Promise<void> {
    const { client } = this.#firstReplicaOf(shard);
    for (const table of tables) {
      this.#assertHeld();
      const check = `NOT (${isOfLogicalShard(table, this.#move.logical)})`;
      await client.command({
        query: `ALTER TABLE ${table}_local ADD CONSTRAINT IF NOT EXISTS ${FENCE} CHECK ${check}`,
        clickhouse_settings: { alter_sync: '2' },
      });
    }
    await untilEnded(this.#replicasOf(shard), 'Insert');
  }

  #liftFence(shard: number): Promise<void> {
    return liftFence(this.#firstReplicaOf(shard), this.#assertHeld);
  }

  /** Makes every server use the new shard, and waits until statements that may still use the old one have ended. */
  async #switch(): Promise<void> {
    const { cluster } = this.#options;
    const stored = await readPlacement(this.#client, { cluster });
    if (stored === undefined) throw new Error('the placement is gone');
    // On all servers, because a command that was killed may have changed a table on some of them.
    const servers = this.#nodes.map(({ client }) => client);
    await placeTables(this.#client, {
      ...{ cluster, placement: stored.shards, servers, assertHeld: this.#assertHeld },
    });
    for (const { client, name } of this.#nodes) {
      const [table] = await tablesPlacedOtherwise(client, stored.shards);
      if (table !== undefined)
        throw new Error(`${name} has not changed ${table} yet: run the command again when it has`);
    }
    // Statements that were planned before the switch: such an insert would go to the old shard, and such a read would miss rows deleted
    // there.
    await untilEnded(this.#nodes, 'Insert');
    await untilEnded(this.#nodes, 'Select');
  }

  async #delete(tables: readonly string[]): Promise<void> {
    const node = this.#firstReplicaOf(this.#move.from);
    for (const table of tables) {
      this.#assertHeld();
      const where = isOfLogicalShard(table, this.#move.logical);
      await deleteRows(node, { table, where });
    }
  }
}
