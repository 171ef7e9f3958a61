import type { ClickHouseClient } from '@waymark/clickhouse';
import { infoField } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { type DiskSpace, diskSpace } from '../free-space.js';
import { repeat } from '../repeat.js';
import { within } from '../within.js';
import type { MetricsLogger } from './metrics-logger.js';

/** Whether Redis keeps what it is given. */
export interface RedisSafety {
  /** Number of the queue shard. */
  readonly shard: number;
  /** Whether the last write and the last rewrite of the append-only file have succeeded. */
  readonly isLogWritten: boolean;
  /** Replicas that follow the master at the moment. */
  readonly replicas: number;
}

/** The state of ClickHouse's tables, on all nodes of a cluster. */
export interface TablesState {
  /** By table: the most parts of one partition. */
  readonly parts: Readonly<Record<string, number>>;
  /** How far the slowest replica of a table is behind. */
  readonly replicaDelaySeconds: number;
  /** Replicas of a table that have no session with Keeper, the most of any table. */
  readonly inactiveReplicas: number;
  /** Tables that take no inserts, because their node has lost Keeper. */
  readonly readOnlyTables: number;
}

export interface StoreSamplerOptions {
  /** By number of the queue shard. */
  readonly queueShards: readonly Redis[];
  readonly spoolDirectory: string | undefined;
  /** Set in one service only: it measures ClickHouse. */
  readonly clickhouse: ClickHouseClient | undefined;
  /** Name of the cluster; undefined for one server. */
  readonly cluster: string | undefined;
  readonly logger: MetricsLogger;
  readonly intervalMs?: number;
}

/** Samples what stores say about their disks, parts and replicas; reads return the last sample at once, undefined if there is none. */
export interface StoreSampler {
  /** One for each queue shard that answers. */
  redis(): readonly RedisSafety[];
  tables(): TablesState | undefined;
  /** By disk: `spool`, and `clickhouse:` with the name that ClickHouse has for it. */
  disks(): ReadonlyMap<string, DiskSpace>;
  /** See `Repetition`. */
  use(): void;
  close(): Promise<void>;
}

const INTERVAL_MS = 15_000;
/** While nobody reads the metrics. */
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

/** `clusterAllReplicas` also asks the nodes that the client is not connected to. */
function source(table: string, cluster: string | undefined): string {
  return cluster === undefined ? `system.${table}` : `clusterAllReplicas('${cluster}', system.${table})`;
}

async function sampleTables(client: ClickHouseClient, cluster: string | undefined) {
  const settings = { max_execution_time: ANSWER_MS / 1000, skip_unavailable_shards: 1 };
  const rows = <Row extends readonly unknown[]>(query: string) =>
    client.rows<Row>({ query, settings, signal: AbortSignal.timeout(ANSWER_MS) });
  const [parts, replicas, disks] = await Promise.all([
    rows<[string, string]>(
      `SELECT table, toString(max(parts)) FROM (SELECT table, partition_id, hostName() AS host, count() AS parts
FROM ${source('parts', cluster)} WHERE active AND database = currentDatabase() GROUP BY table, partition_id, host) GROUP BY table`,
    ),
    rows<[string, string, string]>(
      `SELECT toString(max(absolute_delay)), toString(max(total_replicas - active_replicas)), toString(countIf(is_readonly))
FROM ${source('replicas', cluster)} WHERE database = currentDatabase()`,
    ),
    rows<[string, string, string]>(
      `SELECT name, toString(min(free_space)), toString(argMin(total_space, free_space)) FROM ${source('disks', cluster)} GROUP BY name`,
    ),
  ]);
  const [delay, inactive, readOnly] = (replicas[0] ?? ['0', '0', '0']).map(Number) as [number, number, number];
  return {
    tables: {
      parts: Object.fromEntries(parts.map(([table, count]) => [table, Number(count)])),
      replicaDelaySeconds: delay,
      inactiveReplicas: inactive,
      readOnlyTables: readOnly,
    } satisfies TablesState,
    disks: disks.map(
      ([name, free, total]) =>
        [`clickhouse:${name}`, { freeBytes: Number(free), totalBytes: Number(total) }] satisfies [string, DiskSpace],
    ),
  };
}

export function startStoreSampler(options: StoreSamplerOptions): StoreSampler {
  const { queueShards, spoolDirectory, clickhouse, cluster, logger, intervalMs = INTERVAL_MS } = options;
  let safety: readonly RedisSafety[] = [];
  let tables: TablesState | undefined;
  const disks = new Map<string, DiskSpace>();

  const noteMissing = (what: string) => (err: unknown) => {
    logger.debug({ err }, `the state of ${what} is not known`);
    return undefined;
  };

  async function sampleClickHouse(client: ClickHouseClient): Promise<void> {
    const sample = await sampleTables(client, cluster).catch(noteMissing('ClickHouse'));
    tables = sample?.tables;
    for (const [name, space] of sample?.disks ?? []) disks.set(name, space);
  }

  async function sampleRedises(): Promise<void> {
    const samples = queueShards.map((redis, shard) =>
      within(sampleRedis(redis, shard), ANSWER_MS, 'redis').catch(noteMissing('Redis')),
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
        clickhouse === undefined ? undefined : sampleClickHouse(clickhouse),
        spoolDirectory === undefined ? undefined : sampleSpoolDisk(spoolDirectory),
      ]),
    { intervalMs, restIntervalMs: REST_FACTOR * intervalMs },
  );

  return { redis: () => safety, tables: () => tables, disks: () => disks, use: sampling.use, close: sampling.close };
}
