import type { Histogram } from 'node:perf_hooks';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { DEAD_LETTER_QUEUE } from '@waymark/event-queue';
import type { ComponentWatch } from '../components/component-watch.js';
import type { OpsLog } from '../ops-log.js';
import type { MissingSamples } from './missing-samples.js';
import type { QueueSampler } from './queue-sampler.js';
import { systemTable } from './store-sampler.js';

export interface SamplesOptions {
  readonly service: string;
  readonly components: Pick<ComponentWatch, 'instance' | 'redisMemory' | 'componentStatus'>;
  readonly queue: Pick<QueueSampler, 'queues' | 'spool'>;
  readonly opsLog: Pick<OpsLog, 'add' | 'onFlush' | 'dropped'>;
  /** Delays of the event loop, in nanoseconds. It is reset at each flush, so nothing else may read it. */
  readonly loopDelays: Histogram;
  /** Set in one service only, which also measures the sizes of tables. */
  readonly clickhouse: ClickHouseClient | undefined;
  /** Name of its cluster; undefined for one server. */
  readonly cluster: string | undefined;
  readonly missing: MissingSamples;
  readonly now: () => number;
}

const NANOSECONDS_PER_MS = 1e6;
const TABLES_INTERVAL_MS = 60_000;
const TABLES_TIMEOUT_MS = 2000;

/** Of all servers, as in the view `ops_parts`. Fails while one of them is away: without it, the tables would seem to shrink and grow. */
const sizesQuery = (cluster: string | undefined) => `SELECT table, sum(part_rows), sum(part_bytes)
FROM (SELECT table, rows AS part_rows, bytes_on_disk AS part_bytes
FROM ${systemTable('parts', cluster)} WHERE active AND database = currentDatabase()) GROUP BY table`;

/** Suffix of the names of a queue shard's metrics, as in `queue_waiting:click@1`; empty for shard 0. */
const suffixOf = (shard: number) => (shard === 0 ? '' : `@${shard}`);

/** Makes each flush of the operator tables add measurements of this process to `ops_samples`. */
export function addSamples(options: SamplesOptions): void {
  const { service, components, queue, opsLog, loopDelays, clickhouse, cluster, missing, now } = options;
  let sizesReadMs = Number.NEGATIVE_INFINITY;

  const put = (metric: string, value: number) =>
    opsLog.add('ops_samples', [now(), service, components.instance, metric, value]);

  async function measureTables(client: ClickHouseClient): Promise<void> {
    const signal = AbortSignal.timeout(TABLES_TIMEOUT_MS);
    const reading = client.rows<[string, string, string]>({ query: sizesQuery(cluster), signal });
    const sizes = await missing.orNone('the sizes of tables', reading);
    if (sizes === undefined) sizesReadMs = Number.NEGATIVE_INFINITY;
    for (const [table, rows, bytes] of sizes ?? []) {
      put(`table_rows:${table}`, Number(rows));
      put(`table_bytes:${table}`, Number(bytes));
    }
  }

  opsLog.onFlush(() => {
    const queues = queue.queues();
    for (const { shard, depths, oldestMs } of queues) {
      const suffix = suffixOf(shard);
      for (const [kind, { waiting, active, delayed }] of Object.entries(depths)) {
        if (kind === DEAD_LETTER_QUEUE) continue;
        for (const [state, count] of Object.entries({ waiting, active, delayed }))
          put(`queue_${state}:${kind}${suffix}`, count);
      }
      for (const [kind, age] of Object.entries(oldestMs)) put(`queue_oldest_ms:${kind}${suffix}`, age);
    }
    if (queues.length > 0) {
      put(
        'dead_letters',
        queues.reduce((sum, { depths }) => sum + (depths[DEAD_LETTER_QUEUE]?.waiting ?? 0), 0),
      );
    }
    const spool = queue.spool();
    if (spool !== undefined) {
      put('spool_files', spool.own.files);
      put('spool_bytes', spool.own.bytes);
      put('spool_waiting_files', spool.all.files);
      put('spool_waiting_bytes', spool.all.bytes);
    }
    for (const { shard, usedBytes, limitBytes } of components.redisMemory()) {
      put(`redis_used_bytes${suffixOf(shard)}`, usedBytes);
      put(`redis_limit_bytes${suffixOf(shard)}`, limitBytes);
    }
    if (loopDelays.count > 0) put('event_loop_p99_ms', loopDelays.percentile(99) / NANOSECONDS_PER_MS);
    loopDelays.reset();
    put('rss_bytes', process.memoryUsage.rss());
    put('rows_dropped', opsLog.dropped());
    if (clickhouse !== undefined && now() - sizesReadMs >= TABLES_INTERVAL_MS) {
      sizesReadMs = now();
      void measureTables(clickhouse);
    }
  });
}
