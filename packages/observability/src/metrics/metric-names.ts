/** Names and help texts of our metrics. Alerts and dashboards use the names: never change one. */
export const METRICS = {
  requestSeconds: ['waymark_http_request_duration_seconds', 'Response time of requests by route and status'],
  limited: ['waymark_limited_requests_total', 'Requests over a rate limit, by plan of the workspace'],
  queueJobs: ['waymark_queue_jobs', 'Jobs in the queue by kind and state; every service exports the same values'],
  queueAge: [
    'waymark_queue_oldest_job_age_seconds',
    'Age of the oldest of the jobs that are written next, by kind, 0 when none waits',
  ],
  deadLetters: [
    'waymark_dead_letters',
    'Rows that ClickHouse or the writer refused, kept until an operator replays or discards them',
  ],
  spoolFiles: ['waymark_spool_files', 'Files of clicks that this process has spooled on disk while Redis is away'],
  spoolBytes: ['waymark_spool_bytes', 'Bytes in them'],
  spoolWaitingFiles: [
    'waymark_spool_waiting_files',
    'Such files in the directory of the spool, also of processes that share it or have ended',
  ],
  spoolWaitingBytes: ['waymark_spool_waiting_bytes', 'Bytes in them'],
  spoolLimit: ['waymark_spool_limit_bytes', 'Size that the spool of this process may have (SPOOL_MAX_MB)'],
  diskFree: ['waymark_disk_free_bytes', 'Free bytes of the disk of the spool, and of the disks of ClickHouse'],
  diskTotal: ['waymark_disk_total_bytes', 'Size of these disks'],
  redisLogWritten: [
    'waymark_redis_log_written',
    '1 when Redis could write and rewrite its append-only file the last time, else 0',
  ],
  redisReplicas: ['waymark_redis_replicas', 'Replicas that follow the Redis of the queue'],
  redisReplicasWanted: ['waymark_redis_replicas_wanted', 'Replicas that confirm each write (REDIS_WAIT_REPLICAS)'],
  tableParts: ['waymark_clickhouse_parts', 'The most parts of one partition, by table'],
  replicaDelay: ['waymark_clickhouse_replica_delay_seconds', 'How far the slowest replica of a table is behind'],
  inactiveReplicas: ['waymark_clickhouse_inactive_replicas', 'Replicas of a table without a session with Keeper'],
  readOnlyTables: ['waymark_clickhouse_readonly_tables', 'Tables that take no inserts because they have lost Keeper'],
  failingMutations: [
    'waymark_clickhouse_failing_mutations',
    'Mutations (deletions and changes of rows) that ClickHouse could not carry out the last time it tried, by table',
  ],
  mutationSeconds: [
    'waymark_clickhouse_mutation_age_seconds',
    'Age of the oldest mutation that is not done, by table; left out where all are done',
  ],
  batchRows: ['waymark_writer_batch_rows', 'Rows of each insert batch, by kind'],
  insertSeconds: [
    'waymark_writer_insert_duration_seconds',
    'Time to store an insert batch, retries and pauses included, by kind',
  ],
  batches: ['waymark_writer_batches_total', 'Insert batches by kind and outcome'],
  webhooksDropped: [
    'waymark_webhook_deliveries_dropped_total',
    'Deliveries of clicks, leads and sales to webhooks that were not queued, because too many wait and Redis is filling, by kind',
  ],
  erasureAge: [
    'waymark_oldest_erasure_age_seconds',
    'Time since the oldest open erasure was accepted or, after an earlier end, continued; 0 when there is none; left out until it is known',
  ],
  catalogLookups: [
    'waymark_catalog_lookups_total',
    'Records looked up, by kind and source: memory, redis or clickhouse',
  ],
  redisUsed: ['waymark_redis_memory_used_bytes', 'Memory that Redis uses'],
  redisLimit: ['waymark_redis_memory_limit_bytes', 'Its limit; 0 = none'],
  memoryLimit: [
    'waymark_process_memory_limit_bytes',
    'Memory that the container of the process may use; left out without a limit',
  ],
  heapLimit: ['waymark_process_heap_limit_bytes', 'Size that the heap of the process may have'],
  componentUp: [
    'waymark_component_up',
    '1 when a part of the installation is up, 0 when it is down; left out while unknown',
  ],
  componentProcesses: ['waymark_component_processes', 'Processes of a part of the installation that run'],
  componentStarts: ['waymark_component_starts_total', 'Starts of a part of the installation'],
  componentKills: ['waymark_component_kills_total', 'Processes of a service that ended without a regular stop'],
  slowQueries: ['waymark_slow_queries_total', 'Queries of the API that took ClickHouse a second or more, by endpoint'],
  failedQueries: [
    'waymark_failed_queries_total',
    'Queries of the API that ClickHouse aborted or did not answer, by endpoint',
  ],
  opsDropped: [
    'waymark_operator_rows_dropped_total',
    'Rows of operator tables dropped because ClickHouse was away for too long',
  ],
} as const;
