import type { ClickHouseClient, QueryCaller, QueryReport } from '@waymark/clickhouse';
import { type WriteReport, warnOfRedisSettings } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { type ComponentWatch, startComponentWatch } from './components/component-watch.js';
import type { Instance } from './components/instance-registry.js';
import { diskShortage } from './free-space.js';
import { startLoopDelay } from './metrics/loop-delay.js';
import type { MetricsLogger } from './metrics/metrics-logger.js';
import { createMissingSamples } from './metrics/missing-samples.js';
import { createQueryCounts } from './metrics/query-counts.js';
import { startQueueSampler } from './metrics/queue-sampler.js';
import { type CatalogLookups, createRegistry } from './metrics/registry.js';
import { createRequestCounts, type RequestCounts } from './metrics/request-counts.js';
import { addSamples } from './metrics/samples.js';
import { startStoreSampler } from './metrics/store-sampler.js';
import { createWriterCounts } from './metrics/writer-counts.js';
import { createOpsLog, type OpsLog } from './ops-log.js';
import type { Tracing } from './tracing/tracing.js';
import { VERSION } from './version.js';

export interface OperationsOptions {
  /** http, ingest, query, management, writer or webhooks. */
  readonly service: string;
  /** Marks of the instance keys of this process. */
  readonly keys?: Instance['keys'];
  /** A connection whose commands have a time limit. */
  readonly redis: Redis;
  /** Connections to the queue shards from 1 on; none by default. */
  readonly otherQueueShards?: readonly Redis[];
  readonly clickhouse: ClickHouseClient;
  /** The directory of the spool; undefined in processes without one. */
  readonly spoolDirectory?: string;
  /** Limit on the bytes of the spool. A warning is logged if the disk has less free space. */
  readonly spoolBytesMax?: number;
  /** How many replicas of Redis confirm each write; 0 by default. */
  readonly waitReplicas?: number;
  /** Name of the cluster of ClickHouse; undefined for one server. */
  readonly clickhouseCluster?: string | undefined;
  readonly catalogLookups?: () => CatalogLookups;
  /** Whether the process is a writer, which also measures its insert batches, and ClickHouse. */
  readonly isWriter?: boolean;
  /** The result of `startTracing`; closed with the rest. */
  readonly tracing?: Tracing | undefined;
  readonly logger: MetricsLogger;
  readonly now?: () => number;
  /** Intervals in milliseconds. Tests shorten them. */
  readonly intervalMs?: {
    readonly components?: number;
    readonly queue?: number;
    readonly stores?: number;
    readonly opsLog?: number;
  };
}

/** Everything that reports on one process: metrics, heartbeat, operator tables and traces. */
export interface Operations {
  readonly service: string;
  readonly components: ComponentWatch;
  readonly requests: RequestCounts;
  readonly opsLog: OpsLog;
  readonly registry: Registry;
  /** Call it when the metrics are read, because samples are taken less often while they are not requested. */
  noteScrape(): void;
  readonly tracing: Tracing | undefined;
  /** Call it for each insert batch that a writer has stored. */
  countBatch(batch: WriteReport): void;
  /** Call it with the number of deliveries to webhooks that a writer has not queued. @param kind click, lead or sale */
  countDroppedDeliveries(kind: string, deliveries: number): void;
  /** Call it with the time since which the oldest erasure is open, epoch milliseconds; undefined if none is. */
  noteOldestErasure(sinceMs: number | undefined): void;
  /** Call it for each query of the API that was not cancelled. */
  countQuery(caller: QueryCaller, report: QueryReport): void;
  /** Deregisters the process and writes the remaining rows. Call it before the stores are closed. */
  close(): Promise<void>;
}

const ROUTE_CHARS_MAX = 200;

/** Adds the requests since the last call to the operator tables. @returns whether there were any */
function addRequests(opsLog: OpsLog, requests: RequestCounts, service: string, now: number): boolean {
  let isBusy = false;
  const minute = Math.floor(now / 60_000) * 60;
  for (const entry of requests.all()) {
    const added = entry.durations.takeNew();
    if (added === undefined) continue;
    const { route, plan, status } = entry.kind;
    const kind = [minute, service, route.slice(0, ROUTE_CHARS_MAX), plan, status] as const;
    const limited = entry.takeLimited();
    opsLog.add('ops_requests', [...kind, added.count, limited, added.sumMs, added.maxMs, added.buckets]);
    isBusy = true;
  }
  return isBusy;
}

/** Starts metrics, heartbeat and operator tables of a process. Logs a warning when settings of Redis could lose events. */
export function startOperations(options: OperationsOptions): Operations {
  const {
    service,
    keys,
    redis,
    otherQueueShards = [],
    clickhouse,
    spoolDirectory,
    catalogLookups,
    tracing,
    logger,
    now = Date.now,
    intervalMs,
  } = options;
  const isWriter = options.isWriter === true;
  const redises = [redis, ...otherQueueShards];
  redises.forEach((server, shard) => {
    warnOfRedisSettings(server, logger, shard === 0 ? 'REDIS_URL' : `QUEUE_SHARDS, shard ${shard}`);
  });
  const components = startComponentWatch({
    redis,
    otherQueueShards,
    clickhouse,
    service,
    version: VERSION,
    keys,
    logger,
    now,
    intervalMs: intervalMs?.components,
  });
  const queue = startQueueSampler({
    queueShards: redises,
    spoolDirectory,
    logger,
    now,
    intervalMs: intervalMs?.queue,
  });
  const missing = createMissingSamples(logger);
  const stores = startStoreSampler({
    queueShards: redises,
    spoolDirectory,
    clickhouse: isWriter ? clickhouse : undefined,
    cluster: options.clickhouseCluster,
    missing,
    logger,
    intervalMs: intervalMs?.stores,
  });
  if (spoolDirectory !== undefined && options.spoolBytesMax !== undefined) {
    const need = { setting: 'SPOOL_MAX_MB', directory: spoolDirectory, bytes: options.spoolBytesMax };
    void diskShortage({ ...need, risk: 'clicks are lost while Redis is away' }).then((line) => {
      if (line !== undefined) logger.warn({}, line);
    });
  }
  const opsLog = createOpsLog({ clickhouse, logger, intervalMs: intervalMs?.opsLog });
  const requests = createRequestCounts();
  const writer = isWriter ? createWriterCounts({ instance: components.instance, opsLog, now }) : undefined;
  opsLog.onFlush(() => {
    if (addRequests(opsLog, requests, service, now())) components.noteWork();
  });
  const loopDelay = startLoopDelay();
  addSamples({
    service,
    components,
    queue,
    opsLog,
    loopDelays: loopDelay.histogram(),
    clickhouse: isWriter ? clickhouse : undefined,
    cluster: options.clickhouseCluster,
    missing,
    now,
  });
  const queries = createQueryCounts({ opsLog, now });
  const registry = createRegistry({
    service,
    components,
    queue,
    shards: redises.length,
    stores,
    limits: { spoolBytesMax: options.spoolBytesMax, waitReplicas: options.waitReplicas ?? 0 },
    requests,
    queries,
    opsLog,
    loopDelays: loopDelay.histogram(),
    catalogLookups,
    writer,
  });

  return {
    service,
    components,
    requests,
    opsLog,
    registry,
    tracing,
    noteScrape() {
      queue.use();
      stores.use();
    },
    countBatch(batch) {
      components.noteWork();
      writer?.count(batch);
      tracing?.batch(batch);
    },
    countDroppedDeliveries(kind, deliveries) {
      writer?.dropDeliveries(kind, deliveries);
    },
    noteOldestErasure(sinceMs) {
      writer?.noteOldestErasure(sinceMs);
    },
    countQuery(caller, report) {
      queries.count(caller, report);
      tracing?.query(caller, report);
    },
    async close() {
      loopDelay.close();
      await Promise.all([queue.close(), stores.close()]);
      await Promise.all([components.close(), opsLog.close(), tracing?.close()]);
    },
  };
}
