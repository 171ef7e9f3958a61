/**
 * The tables of measurements that services write for operators, with their columns in the order of the inserted rows. `time` is in epoch
 * milliseconds, `minute` in epoch seconds. The columns are described in clickhouse/measurements.md.
 */
export const OPS_TABLES = {
  ops_batches: [
    'time',
    'instance',
    'kind',
    'outcome',
    'rows',
    'bytes',
    'attempts',
    'gather_ms',
    'insert_ms',
    'lag_ms_min',
    'lag_ms_max',
  ],
  ops_workspace_minutes: ['minute', 'workspace_id', 'kind', 'events', 'lag_ms_max'],
  ops_samples: ['time', 'service', 'instance', 'metric', 'value'],
  ops_requests: [
    'minute',
    'service',
    'route',
    'plan',
    'status',
    'requests',
    'limited',
    'duration_ms_sum',
    'duration_ms_max',
    'duration_ms',
  ],
  ops_slow_queries: ['time', 'workspace_id', 'endpoint', 'duration_ms', 'read_rows', 'read_bytes', 'error'],
} as const;

export type OpsTable = keyof typeof OPS_TABLES;

/** Upper bounds, in milliseconds, of the histogram `ops_requests.duration_ms`; its last bucket is for longer requests. */
export const DURATION_BOUNDS_MS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const;
