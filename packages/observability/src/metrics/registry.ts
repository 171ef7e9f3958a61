import { totalmem } from 'node:os';
import type { Histogram } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { groupBy } from '@waymark/contract';
import { DEAD_LETTER_QUEUE } from '@waymark/event-queue';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ComponentWatch } from '../components/component-watch.js';
import type { OpsLog } from '../ops-log.js';
import {
  addCounter,
  addGauge,
  addHistogram,
  DURATION_BOUNDS_SECONDS,
  durationSample,
  type Sample,
} from './collectors.js';
import type { DurationCounts } from './duration-counts.js';
import { METRICS } from './metric-names.js';
import type { QueryCounts } from './query-counts.js';
import type { QueueSampler } from './queue-sampler.js';
import type { RequestCounts } from './request-counts.js';
import type { StoreSampler } from './store-sampler.js';
import { ROWS_BOUNDS, type WriterCounts } from './writer-counts.js';

/** How many look-ups of records were answered from where, by kind of record. */
export type CatalogLookups = Readonly<Record<string, Readonly<Record<'memory' | 'redis' | 'clickhouse', number>>>>;

export interface RegistryDeps {
  readonly service: string;
  readonly components: Pick<ComponentWatch, 'componentStatus' | 'redisMemory'>;
  readonly queue: Pick<QueueSampler, 'queues' | 'spool'>;
  /** Number of queue shards. With more than one, metrics of the queue and of Redis have the label `shard`. */
  readonly shards: number;
  readonly stores: Pick<StoreSampler, 'redis' | 'parts' | 'replicas' | 'mutations' | 'disks'>;
  /** Settings that are shown beside the samples, so that alerts can compare them. */
  readonly limits: { readonly spoolBytesMax: number | undefined; readonly waitReplicas: number };
  readonly requests: Pick<RequestCounts, 'all'>;
  readonly queries: Pick<QueryCounts, 'slow' | 'failed'>;
  readonly opsLog: Pick<OpsLog, 'dropped'>;
  /** Delays of the event loop. Each scrape resets the histogram, so nothing else may read it. */
  readonly loopDelays: Histogram;
  readonly catalogLookups: (() => CatalogLookups) | undefined;
  readonly writer: Pick<WriterCounts, 'all' | 'droppedDeliveries' | 'erasureAgeMs'> | undefined;
}

const NANOSECONDS_PER_SECOND = 1e9;

/** A metric without labels; absent when the value is undefined. */
const one = (value: number | undefined): Sample[] => (value === undefined ? [] : [{ labels: {}, value }]);

function addRequests(registry: Registry, requests: RegistryDeps['requests']): void {
  const [name, help] = METRICS.requestSeconds;
  addHistogram(registry, name, help, DURATION_BOUNDS_SECONDS, () =>
    [...groupBy(requests.all(), ({ kind }) => `${kind.route} ${kind.status}`).values()].map((same) => {
      const { route, status } = same[0].kind;
      const [method = '', path = ''] = route.split(' ');
      const counts: DurationCounts[] = same.map(({ durations }) => durations);
      return durationSample({ method, route: path, status: String(status) }, counts);
    }),
  );
  addCounter(registry, ...METRICS.limited, () =>
    [...groupBy(requests.all(), ({ kind }) => kind.plan)]
      .filter(([plan]) => plan !== '')
      .map(([plan, same]) => ({ labels: { plan }, value: same.reduce((sum, { limited }) => sum + limited, 0) })),
  );
}

/** The labels of a queue shard's metrics; none with a single shard. */
type LabelsOf = (shard: number) => Readonly<Record<string, string>>;

function addQueue(registry: Registry, queue: RegistryDeps['queue'], labelsOf: LabelsOf): void {
  addGauge(registry, ...METRICS.queueJobs, () =>
    queue.queues().flatMap(({ shard, depths }) =>
      Object.entries(depths)
        .filter(([kind]) => kind !== DEAD_LETTER_QUEUE)
        .flatMap(([kind, depth]) =>
          Object.entries(depth).map(([state, value]: [string, number]) => ({
            labels: { kind, state, ...labelsOf(shard) },
            value,
          })),
        ),
    ),
  );
  addGauge(registry, ...METRICS.queueAge, () =>
    queue
      .queues()
      .flatMap(({ shard, oldestMs }) =>
        Object.entries(oldestMs).map(([kind, age]) => ({ labels: { kind, ...labelsOf(shard) }, value: age / 1000 })),
      ),
  );
  addGauge(registry, ...METRICS.deadLetters, () =>
    queue.queues().flatMap(({ shard, depths }) => {
      const value = depths[DEAD_LETTER_QUEUE]?.waiting;
      return value === undefined ? [] : [{ labels: labelsOf(shard), value }];
    }),
  );
  addGauge(registry, ...METRICS.spoolFiles, () => one(queue.spool()?.own.files));
  addGauge(registry, ...METRICS.spoolBytes, () => one(queue.spool()?.own.bytes));
  addGauge(registry, ...METRICS.spoolWaitingFiles, () => one(queue.spool()?.all.files));
  addGauge(registry, ...METRICS.spoolWaitingBytes, () => one(queue.spool()?.all.bytes));
}

function addWriter(registry: Registry, writer: NonNullable<RegistryDeps['writer']>): void {
  const kinds = () => [...writer.all()];
  addHistogram(registry, ...METRICS.batchRows, ROWS_BOUNDS, () =>
    kinds().map(([kind, { insertDurations, rows, rowBuckets }]) => ({
      labels: { kind },
      count: insertDurations.count,
      sum: rows,
      buckets: rowBuckets,
    })),
  );
  addHistogram(registry, ...METRICS.insertSeconds, DURATION_BOUNDS_SECONDS, () =>
    kinds().map(([kind, { insertDurations }]) => durationSample({ kind }, [insertDurations])),
  );
  addCounter(registry, ...METRICS.batches, () =>
    kinds().flatMap(([kind, { outcomes }]) =>
      [...outcomes].map(([outcome, value]) => ({ labels: { kind, outcome }, value })),
    ),
  );
  addCounter(registry, ...METRICS.webhooksDropped, () =>
    [...writer.droppedDeliveries()].map(([kind, value]) => ({ labels: { kind }, value })),
  );
  addGauge(registry, ...METRICS.erasureAge, () => {
    const ageMs = writer.erasureAgeMs();
    return one(ageMs === undefined ? undefined : ageMs / 1000);
  });
}

function addComponents(registry: Registry, components: RegistryDeps['components'], labelsOf: LabelsOf): void {
  const { componentStatus, redisMemory } = components;
  addGauge(registry, ...METRICS.componentUp, () =>
    componentStatus()
      .filter(({ state }) => state !== 'unknown')
      .map(({ component, state }) => ({ labels: { component }, value: state === 'down' ? 0 : 1 })),
  );
  addGauge(registry, ...METRICS.componentProcesses, () =>
    componentStatus().map(({ component, processes }) => ({ labels: { component }, value: processes })),
  );
  addCounter(registry, ...METRICS.componentStarts, () =>
    componentStatus().map(({ component, starts }) => ({ labels: { component }, value: starts })),
  );
  addCounter(registry, ...METRICS.componentKills, () =>
    componentStatus().map(({ component, kills }) => ({ labels: { component }, value: kills })),
  );
  const memory = (field: 'usedBytes' | 'limitBytes') => () =>
    redisMemory().map(({ shard, [field]: value }) => ({ labels: labelsOf(shard), value }));
  addGauge(registry, ...METRICS.redisUsed, memory('usedBytes'));
  addGauge(registry, ...METRICS.redisLimit, memory('limitBytes'));
}

function addStores(
  registry: Registry,
  { stores, limits }: Pick<RegistryDeps, 'stores' | 'limits'>,
  labelsOf: LabelsOf,
): void {
  const perDisk = (pick: 'freeBytes' | 'totalBytes') => () =>
    [...stores.disks()].map(([disk, space]) => ({ labels: { disk }, value: space[pick] }));
  addGauge(registry, ...METRICS.spoolLimit, () => one(limits.spoolBytesMax));
  addGauge(registry, ...METRICS.diskFree, perDisk('freeBytes'));
  addGauge(registry, ...METRICS.diskTotal, perDisk('totalBytes'));
  addGauge(registry, ...METRICS.redisLogWritten, () =>
    stores.redis().map(({ shard, isLogWritten }) => ({ labels: labelsOf(shard), value: Number(isLogWritten) })),
  );
  addGauge(registry, ...METRICS.redisReplicas, () =>
    stores.redis().map(({ shard, replicas }) => ({ labels: labelsOf(shard), value: replicas })),
  );
  addGauge(registry, ...METRICS.redisReplicasWanted, () => one(limits.waitReplicas));
  addGauge(registry, ...METRICS.tableParts, () =>
    Object.entries(stores.parts() ?? {}).map(([table, value]) => ({ labels: { table }, value })),
  );
  addGauge(registry, ...METRICS.replicaDelay, () => one(stores.replicas()?.replicaDelaySeconds));
  addGauge(registry, ...METRICS.inactiveReplicas, () => one(stores.replicas()?.inactiveReplicas));
  addGauge(registry, ...METRICS.readOnlyTables, () => one(stores.replicas()?.readOnlyTables));
  const perMutatedTable = (pick: 'failing' | 'seconds') => () =>
    stores.mutations().map(({ table, [pick]: value }) => ({ labels: { table }, value }));
  addGauge(registry, ...METRICS.failingMutations, perMutatedTable('failing'));
  addGauge(registry, ...METRICS.mutationSeconds, perMutatedTable('seconds'));
}

/** As the precision of prom-client's own measurement of the event loop, this practically turns it off. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * The memory that the container of this process may use; undefined without a limit.
 *
 * @param limit `process.constrainedMemory()`: undefined, 0 or more than the machine has if there is no limit
 * @param total the memory of the machine
 */
export function memoryLimit(limit: number | undefined, total: number): number | undefined {
  return limit !== undefined && limit > 0 && limit < total ? limit : undefined;
}

/** Adds prom-client's metrics of the process, with its delays of the event loop replaced by those of `startLoopDelay`. */
function addProcess(registry: Registry, delays: Histogram): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  addGauge(registry, ...METRICS.memoryLimit, () => one(memoryLimit(process.constrainedMemory(), totalmem())));
  addGauge(registry, ...METRICS.heapLimit, () => one(getHeapStatistics().heap_size_limit));
  const values = {
    min: () => delays.min,
    max: () => delays.max,
    mean: () => delays.mean,
    stddev: () => delays.stddev,
    p50: () => delays.percentile(50),
    p90: () => delays.percentile(90),
    p99: () => delays.percentile(99),
  };
  const entries = Object.entries(values);
  entries.forEach(([statistic, value], index) => {
    const name = `nodejs_eventloop_lag_${statistic}_seconds`;
    registry.removeSingleMetric(name);
    addGauge(
      registry,
      name,
      `Delay of the event loop since the last scrape, measured once a second while it is busy: ${statistic}`,
      () => {
        const sample = one(delays.count === 0 ? undefined : value() / NANOSECONDS_PER_SECOND);
        if (index === entries.length - 1) delays.reset();
        return sample;
      },
    );
  });
}

/** Creates the registry with all metrics of a process. A scrape waits for no store: it returns the values of the last samples. */
export function createRegistry(deps: RegistryDeps): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service: deps.service });
  addProcess(registry, deps.loopDelays);
  addRequests(registry, deps.requests);
  const labelsOf = (shard: number): Record<string, string> => (deps.shards === 1 ? {} : { shard: String(shard) });
  addQueue(registry, deps.queue, labelsOf);
  addComponents(registry, deps.components, labelsOf);
  addStores(registry, deps, labelsOf);
  if (deps.writer !== undefined) addWriter(registry, deps.writer);
  const lookups = deps.catalogLookups;
  if (lookups !== undefined) {
    addCounter(registry, ...METRICS.catalogLookups, () =>
      Object.entries(lookups()).flatMap(([kind, answers]) =>
        Object.entries(answers).map(([from, value]) => ({ labels: { kind, from }, value })),
      ),
    );
  }
  const byEndpoint = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([endpoint, value]) => ({ labels: { endpoint }, value }));
  addCounter(registry, ...METRICS.slowQueries, () => byEndpoint(deps.queries.slow()));
  addCounter(registry, ...METRICS.failedQueries, () => byEndpoint(deps.queries.failed()));
  addCounter(registry, ...METRICS.opsDropped, () => one(deps.opsLog.dropped()));
  return registry;
}
