import type { Histogram } from 'node:perf_hooks';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { ComponentWatch } from '../components/component-watch.js';
import type { OpsLog } from '../ops-log.js';
import type { QueueSampler } from './queue-sampler.js';

export interface SamplesOptions {
  readonly service: string;
  readonly components: Pick<ComponentWatch, 'instance' | 'redisMemory' | 'componentStatus'>;
  readonly queue: Pick<QueueSampler, 'queue' | 'spool'>;
  readonly opsLog: Pick<OpsLog, 'add' | 'onFlush' | 'dropped'>;
  /** Delays of the event loop, for this reader only. */
  readonly loopDelays: Histogram;
  /** Set in one service only: measures the sizes of tables as well. */
  readonly clickhouse: ClickHouseClient | undefined;
  readonly now: () => number;
}

const NANOSECONDS_PER_MS = 1e6;
const TABLES_INTERVAL_MS = 60_000;
const TABLES_TIMEOUT_MS = 2000;

const SIZES = `SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS bytes FROM system.parts
WHERE active AND database = currentDatabase() GROUP BY table`;

/** Adds measurements of this process to `ops_samples` at each flush. */
export function addSamples(options: SamplesOptions): void {
  const { service, components, queue, opsLog, loopDelays, clickhouse, now } = options;
  let sizesAt = Number.NEGATIVE_INFINITY;

  const put = (metric: string, value: number) =>
    opsLog.add('ops_samples', [now(), service, components.instance, metric, value]);

  async function measureTables(client: ClickHouseClient): Promise<void> {
    const signal = AbortSignal.timeout(TABLES_TIMEOUT_MS);
    for (const [table, rows, bytes] of await client.rows<[string, string, string]>({ query: SIZES, signal })) {
      put(`table_rows:${table}`, Number(rows));
      put(`table_bytes:${table}`, Number(bytes));
    }
  }

  opsLog.onFlush(() => {
    const sample = queue.queue();
    for (const [kind, { waiting, active, delayed }] of Object.entries(sample?.depths ?? {})) {
      if (kind === 'dead-letter') put('dead_letters', waiting);
      else
        for (const [state, count] of Object.entries({ waiting, active, delayed })) put(`queue_${state}:${kind}`, count);
    }
    for (const [kind, age] of Object.entries(sample?.oldestMs ?? {})) put(`queue_oldest_ms:${kind}`, age);
    const spool = queue.spool();
    if (spool !== undefined) {
      put('spool_files', spool.files);
      put('spool_bytes', spool.bytes);
    }
    const memory = components.redisMemory();
    if (memory !== undefined) {
      put('redis_used_bytes', memory.usedBytes);
      put('redis_limit_bytes', memory.limitBytes);
    }
    if (loopDelays.count > 0) put('event_loop_p99_ms', loopDelays.percentile(99) / NANOSECONDS_PER_MS);
    loopDelays.reset();
    put('rss_bytes', process.memoryUsage.rss());
    put('rows_dropped', opsLog.dropped());
    if (clickhouse !== undefined && now() - sizesAt >= TABLES_INTERVAL_MS) {
      sizesAt = now();
      measureTables(clickhouse).catch(() => {
        sizesAt = Number.NEGATIVE_INFINITY;
      });
    }
  });
}
