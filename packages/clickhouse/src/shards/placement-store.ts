import type { ClickHouseClient } from '../client.js';
import { readSettings, SHARDS_TABLE, writeSettings } from '../migrations/bookkeeping.js';
import { canContinue, firstPlacement, LOGICAL_SHARDS, type Placement } from './placement.js';

/**
 * The step of a move of a logical shard. `copying`: its rows are copied, and reads use the old shard. `switching`: all rows are copied, and
 * the servers change to the new shard one after the other.
 */
export type MoveStep = 'copying' | 'switching';

/** A move of a logical shard that has begun and not ended. `from` and `to` are shards of the cluster, from 1. */
export interface UnfinishedMove {
  readonly logical: number;
  readonly from: number;
  readonly to: number;
  readonly step: MoveStep;
}

/** The placement of a cluster as it is stored in {@link SHARDS_TABLE}. */
export interface StoredPlacement {
  readonly shards: Placement;
  /** Grows with every change. */
  readonly version: number;
  /** When the placement was last changed, epoch milliseconds by the clock of the server. */
  readonly changedMs: number;
  readonly move: UnfinishedMove | undefined;
}

interface Target {
  readonly cluster: string;
}

type Row = [shard: number, other: number, step: string, version: string, changedAtMs: string];

/** Reads the placement of a cluster; undefined before the first one is stored. */
export async function readPlacement(client: ClickHouseClient, target: Target): Promise<StoredPlacement | undefined> {
  const rows = await client.rows<Row>({
    query: `SELECT shard, other, step, version, toUnixTimestamp64Milli(changed_at) FROM ${SHARDS_TABLE} FINAL ORDER BY logical`,
    settings: readSettings(target),
  });
  if (rows.length === 0) return undefined;
  if (rows.length !== LOGICAL_SHARDS) throw new Error(`${SHARDS_TABLE} has ${rows.length} rows of ${LOGICAL_SHARDS}`);
  const logical = rows.findIndex(([, other]) => other !== 0);
  const [shard = 0, other = 0, step = ''] = rows[logical] ?? [];
  const isCopying = step === 'copying';
  return {
    shards: rows.map(([placed]) => placed),
    version: Math.max(...rows.map(([, , , version]) => Number(version))),
    changedMs: Math.max(...rows.map(([, , , , changedMs]) => Number(changedMs))),
    move:
      logical < 0
        ? undefined
        : {
            logical,
            from: isCopying ? shard : other,
            to: isCopying ? other : shard,
            step: isCopying ? 'copying' : 'switching',
          },
  };
}

/**
 * Stores where a logical shard is. The caller holds the lease on the schema.
 *
 * @param row `shard`: the shard that reads use; `other`: during a move the other shard, else 0; `step`: empty when there is no move
 */
export async function writePlacement(
  client: ClickHouseClient,
  target: Target,
  row: { readonly logical: number; readonly shard: number; readonly other: number; readonly step: MoveStep | '' },
): Promise<void> {
  const { version = 0 } = (await readPlacement(client, target)) ?? {};
  await client.command({
    query: `INSERT INTO ${SHARDS_TABLE} SELECT {logical:UInt16}, {shard:UInt16}, {other:UInt16}, {step:String}, now64(3), {version:UInt64}`,
    query_params: { ...row, version: version + 1 },
    clickhouse_settings: writeSettings(target),
  });
}

/** The number of shards of a cluster. @throws Error unless each has the weight 1, because sharding keys are the numbers of shards */
export async function countShards(
  client: ClickHouseClient,
  { cluster, signal }: Target & { readonly signal?: AbortSignal | undefined },
): Promise<number> {
  const rows = await client.rows<[shard: number, weight: number]>({
    query: 'SELECT DISTINCT shard_num, shard_weight FROM system.clusters WHERE cluster = {cluster:String}',
    parameters: { cluster },
    signal,
  });
  if (rows.length === 0) throw new Error(`the server has no cluster ${cluster} in remote_servers`);
  if (rows.some(([, weight]) => weight !== 1))
    throw new Error(`every shard of ${cluster} must have the weight 1 in remote_servers, which is the default`);
  return rows.length;
}

/**
 * Stores the first placement of a cluster. Rows that an earlier release has distributed by `workspace_id % shards` stay where they are.
 *
 * @throws Error when there are such rows, and no placement leaves all of them where they are
 */
export async function writeFirstPlacement(client: ClickHouseClient, target: Target, hasRows: boolean): Promise<void> {
  const shards = await countShards(client, target);
  if (hasRows && !canContinue(shards)) {
    throw new Error(
      `rows that were spread over ${shards} shards cannot be placed in ${LOGICAL_SHARDS} logical ones: copy them into a new cluster with \`npx waymark move\``,
    );
  }
  const placed = firstPlacement(shards).map((shard, logical) => `(${logical}, ${shard}, 0, '', now64(3), 1)`);
  await client.command({
    query: `INSERT INTO ${SHARDS_TABLE} VALUES ${placed.join(', ')}`,
    clickhouse_settings: writeSettings(target),
  });
}
