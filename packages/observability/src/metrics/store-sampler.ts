import { answerWithin } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { infoField } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { type DiskSpace, diskSpace } from '../free-space.js';
import { repeat } from '../repeat.js';
import type { MetricsLogger } from './metrics-logger.js';
import type { MissingSamples } from './missing-samples.js';

/** How safe writes to a Redis are. */
export interface RedisSafety {
  /** Number of the queue shard. */
  readonly shard: number;
  /** Whether the last write and the last rewrite of the append-only file have succeeded. */
  readonly isLogWritten: boolean;
  /** How many replicas are connected and follow the master. */
  readonly replicas: number;
}

/** The state of replicated tables, on all nodes of a cluster. */
export interface ReplicasState {
  /** The delay of the replica that is furthest behind, of any table. */
  readonly replicaDelaySeconds: number;
  /** How many replicas have no session with Keeper, in the table that has the most of them. */
  readonly inactiveReplicas: number;
  /** How many tables accept no inserts, because their node has lost Keeper. */
  readonly readOnlyTables: number;
}

/** The mutations of a table, on all nodes of a cluster, that are not done. */
export interface UnfinishedMutations {
  readonly table: string;
  /** How many of them ClickHouse could not carry out the last time it tried. */
  readonly failing: number;
  /** Age of the oldest. */
  readonly seconds: number;
}

export interface StoreSamplerOptions {
  /** Connections to the queue shards, by their number. */
  readonly queueShards: readonly Redis[];
  /** The directory of the spool; undefined in processes without one. */
  readonly spoolDirectory: string | undefined;
  /** Set in one service only, which samples ClickHouse. */
  readonly clickhouse: ClickHouseClient | undefined;
  /** Name of the cluster; undefined for one server. */
  readonly cluster: string | undefined;
  readonly missing: MissingSamples;
  readonly logger: MetricsLogger;
  readonly intervalMs?: number;
}

/** Samples the stores' disks, parts and replicas every 15 seconds, or 5 minutes while no metrics are read. Reads return the last sample. */
export interface StoreSampler {
  /** A sample of each queue shard that answers. */
  redis(): readonly RedisSafety[];
  /**
   * The number of parts in the partition that has the most, by table. Undefined in services that do not sample ClickHouse, and when the last
   * sample failed, as {@link StoreSampler.replicas}.
   */
  parts(): Readonly<Record<string, number>> | undefined;
  replicas(): ReplicasState | undefined;
  /** Without tables whose mutations are all done. */
  mutations(): readonly UnfinishedMutations[];
  /** By disk: `spool`, and `clickhouse:<name>` for ClickHouse's disks. */
  disks(): ReadonlyMap<string, DiskSpace>;
  /** Call it when metrics are read; see `Repetition`. */
  use(): void;
  close(): Promise<void>;
}

const INTERVAL_MS = 15_000;
/** Factor of the interval while the metrics are not requested. */
const REST_FACTOR = 20;
const ANSWER_MS = 5_000;

async function sampleRedis(redis: Redis, shard: number): Promise<RedisSafety> {
  const [persistence, replication] = await Promise.all([redis.info('persistence'), redis.info('replication')]);
  const isOk = (field: string) => (infoField(persistence, field) ?? 'ok') === 'ok';
  return {
    shard,
    isLogWritten: isOk('aof_last_write_status') && isOk('aof_last_bgrewrite_status'),
    replicas: (replication.match(/^slave\d+:.*state=online/gm) ?? []).length,
  };
}

/** A system table to read from, in a subquery without aggregates: on a cluster, the table of all nodes, whose rows are aggregated here. */
export function systemTable(table: string, cluster: string | undefined): string {
  return cluster === undefined ? `system.${table}` : `clusterAllReplicas('${cluster}', system.${table})`;
}

/** The samples of ClickHouse that could be taken. */
async function sampleClickHouse(client: ClickHouseClient, cluster: string | undefined, missing: MissingSamples) {
  const settings = { max_execution_time: ANSWER_MS / 1000, skip_unavailable_shards: 1 };
  const rows = <Row extends readonly unknown[]>(query: string) =>
    client.rows<Row>({ query, settings, signal: AbortSignal.timeout(ANSWER_MS) });
  const [parts, replicas, mutations, disks] = await Promise.all([
    missing.orNone(
      "ClickHouse's parts",
      rows<[string, string]>(
        `SELECT table, toString(max(parts)) FROM (SELECT table, count() AS parts
FROM (SELECT table, partition_id, hostName() AS host FROM ${systemTable('parts', cluster)} WHERE active AND database = currentDatabase())
GROUP BY table, partition_id, host) GROUP BY table`,
      ),
    ),
    missing.orNone(
      "ClickHouse's replicas",
      rows<[string, string, string]>(
        `SELECT toString(max(delay)), toString(max(inactive)), toString(countIf(readonly))
FROM (SELECT absolute_delay AS delay, total_replicas - active_replicas AS inactive, is_readonly AS readonly
FROM ${systemTable('replicas', cluster)} WHERE database = currentDatabase())`,
      ),
    ),
    missing.orNone(
      "ClickHouse's mutations",
      rows<[string, string, string]>(
        `SELECT table, toString(uniqExactIf(id, failing)), toString(max(seconds))
FROM (SELECT table, mutation_id AS id, latest_fail_reason != '' AS failing, greatest(0, dateDiff('second', create_time, now())) AS seconds
FROM ${systemTable('mutations', cluster)} WHERE database = currentDatabase() AND NOT is_done) GROUP BY table`,
      ),
    ),
    missing.orNone(
      "ClickHouse's disks",
      rows<[string, string, string]>(
        `SELECT name, toString(min(free)), toString(argMin(total, free))
FROM (SELECT name, free_space AS free, total_space AS total FROM ${systemTable('disks', cluster)}) GROUP BY name`,
      ),
    ),
  ]);
  const [delay = 0, inactive = 0, readOnly = 0] = (replicas?.[0] ?? []).map(Number);
  return {
    parts: parts && Object.fromEntries(parts.map(([table, count]) => [table, Number(count)])),
    replicas:
      replicas &&
      ({
        replicaDelaySeconds: delay,
        inactiveReplicas: inactive,
        readOnlyTables: readOnly,
      } satisfies ReplicasState),
    mutations: (mutations ?? []).map(
      ([table, failing, seconds]): UnfinishedMutations => ({
        table,
        failing: Number(failing),
        seconds: Number(seconds),
      }),
    ),
    disks: (disks ?? []).map(
      ([name, free, total]) =>
        [`clickhouse:${name}`, { freeBytes: Number(free), totalBytes: Number(total) }] satisfies [string, DiskSpace],
    ),
  };
}

export function startStoreSampler(options: StoreSamplerOptions): StoreSampler {
  const { queueShards, spoolDirectory, clickhouse, cluster, missing, logger, intervalMs = INTERVAL_MS } = options;
  let safety: readonly RedisSafety[] = [];
  let parts: ReturnType<StoreSampler['parts']>;
  let replicas: ReplicasState | undefined;
  let mutations: readonly UnfinishedMutations[] = [];
  const disks = new Map<string, DiskSpace>();

  async function sampleTables(client: ClickHouseClient): Promise<void> {
    const sample = await sampleClickHouse(client, cluster, missing);
    ({ parts, replicas, mutations } = sample);
    for (const [name, space] of sample.disks) disks.set(name, space);
  }

  async function sampleRedises(): Promise<void> {
    const samples = queueShards.map((redis, shard) =>
      answerWithin(sampleRedis(redis, shard), ANSWER_MS, 'redis').catch((err: unknown) => {
        logger.debug({ err }, 'the state of Redis is unknown');
        return undefined;
      }),
    );
    safety = (await Promise.all(samples)).filter((sample) => sample !== undefined);
  }

  async function sampleSpoolDisk(directory: string): Promise<void> {
    const space = await diskSpace(directory);
    if (space !== undefined) disks.set('spool', space);
  }

  const sampling = repeat(
    () =>
      Promise.all([
        sampleRedises(),
        clickhouse === undefined ? undefined : sampleTables(clickhouse),
        spoolDirectory === undefined ? undefined : sampleSpoolDisk(spoolDirectory),
      ]),
    { intervalMs, restIntervalMs: REST_FACTOR * intervalMs },
  );

  return {
    redis: () => safety,
    parts: () => parts,
    replicas: () => replicas,
    mutations: () => mutations,
    disks: () => disks,
    use: sampling.use,
    close: sampling.close,
  };
}
