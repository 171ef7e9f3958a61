/** Metrics of ours, with what each says. Alerts and dashboards name them: a name is never changed. */
export const METRICS = {
  requestSeconds: [
    'waymark_http_request_duration_seconds',
    'Requests answered, by route and status, and how long they took',
  ],
  limited: ['waymark_limited_requests_total', 'Requests over a rate limit, by plan of the workspace'],
  queueJobs: ['waymark_queue_jobs', 'Jobs in the queue by kind and state; all services see the same'],
  queueAge: ['waymark_queue_oldest_job_age_seconds', 'Age of the oldest job by kind, 0 when none waits'],
  deadLetters: ['waymark_dead_letters', 'Rows that ClickHouse refused and that wait for a command'],
  spoolFiles: ['waymark_spool_files', 'Files of clicks that wait on disk for Redis'],
  spoolBytes: ['waymark_spool_bytes', 'Bytes in them'],
  batchRows: ['waymark_writer_batch_rows', 'Rows of the groups stored, by kind'],
  insertSeconds: [
    'waymark_writer_insert_duration_seconds',
    'How long groups took to be stored, by kind, attempts and pauses included',
  ],
  groups: ['waymark_writer_batches_total', 'Groups stored, by kind and outcome'],
  catalogLookups: [
    'waymark_catalog_lookups_total',
    'Records looked up, by kind and by what answered: memory, redis or clickhouse',
  ],
  redisUsed: ['waymark_redis_memory_used_bytes', 'Memory that Redis uses'],
  redisLimit: ['waymark_redis_memory_limit_bytes', 'Its limit; 0 = none'],
  componentUp: ['waymark_component_up', 'Whether a part of the installation is there; left out while nobody can know'],
  componentStarts: ['waymark_component_starts_total', 'Starts of a part of the installation'],
  componentKills: ['waymark_component_kills_total', 'Processes of a service that vanished without stopping'],
  slowQueries: ['waymark_slow_queries_total', 'Queries of the API that took ClickHouse a second or more, by endpoint'],
  failedQueries: [
    'waymark_failed_queries_total',
    'Queries of the API that ClickHouse gave up or did not answer, by endpoint',
  ],
  opsDropped: [
    'waymark_operator_rows_dropped_total',
    'Rows for operator tables given up, as ClickHouse was away for too long',
  ],
} as const;
