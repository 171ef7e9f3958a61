-- Groups of jobs as writers stored them. Written by the services, a few seconds late; nothing is lost when rows are missing.
CREATE TABLE IF NOT EXISTS ops_batches${local} ${cluster}
(
    time DateTime64(3, 'UTC') COMMENT 'When the group was stored' CODEC(Delta, ZSTD(1)),
    instance LowCardinality(String) COMMENT 'Which writer: host and process id',
    kind LowCardinality(String) COMMENT 'click, lead, sale or customer',
    outcome LowCardinality(String) COMMENT 'stored: at once; retried: after errors of ClickHouse; bisected: in parts, as a row was refused; parked: some rows went to the dead letters',
    rows UInt32 COMMENT 'Rows of the group',
    bytes UInt64 COMMENT 'Their JSON text',
    attempts UInt32 COMMENT 'Inserts it took',
    gather_ms UInt32 COMMENT 'How long its first job waited for the others',
    insert_ms UInt32 COMMENT 'First attempt to last answer',
    lag_ms_min Int64 COMMENT 'Time of its latest event to time stored; 0 for customers',
    lag_ms_max Int64 COMMENT 'Time of its earliest event to time stored; 0 for customers'
)
ENGINE = ${engine:MergeTree}
PARTITION BY toDate(time)
ORDER BY (time, kind)
TTL toDateTime(time) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, default_compression_codec = 'ZSTD(1)', ttl_only_drop_parts = 1, ${deduplication};

${distributed:ops_batches:rand()}

CREATE VIEW IF NOT EXISTS ops_writer_batches ${cluster}
(
    minute DateTime('UTC') COMMENT 'When the groups were stored',
    kind String COMMENT 'click, lead, sale or customer',
    batches UInt64 COMMENT 'Groups stored',
    rows UInt64 COMMENT 'Rows in them',
    bytes UInt64 COMMENT 'Their JSON text',
    rows_avg Float64 COMMENT 'Rows a group',
    rows_max UInt64 COMMENT 'Rows of the largest group',
    gather_ms_p50 Float64 COMMENT 'Half of the groups waited no longer for company',
    insert_ms_p50 Float64 COMMENT 'Half of the inserts took no longer',
    insert_ms_p99 Float64 COMMENT 'One insert of a hundred took longer',
    lag_ms_max Int64 COMMENT 'Longest time from an event to its being stored',
    attempts UInt64 COMMENT 'Inserts tried',
    retried UInt64 COMMENT 'Groups stored after errors of ClickHouse',
    bisected UInt64 COMMENT 'Groups stored in parts, as a row was refused',
    parked UInt64 COMMENT 'Groups of which rows went to the dead letters'
)
AS SELECT
    toStartOfMinute(b.time, 'UTC') AS minute,
    toString(b.kind) AS kind,
    count() AS batches,
    sum(b.rows) AS rows,
    sum(b.bytes) AS bytes,
    avg(b.rows) AS rows_avg,
    toUInt64(max(b.rows)) AS rows_max,
    toFloat64(quantile(0.5)(b.gather_ms)) AS gather_ms_p50,
    toFloat64(quantile(0.5)(b.insert_ms)) AS insert_ms_p50,
    toFloat64(quantile(0.99)(b.insert_ms)) AS insert_ms_p99,
    max(b.lag_ms_max) AS lag_ms_max,
    sum(b.attempts) AS attempts,
    countIf(b.outcome = 'retried') AS retried,
    countIf(b.outcome = 'bisected') AS bisected,
    countIf(b.outcome = 'parked') AS parked
FROM ops_batches AS b
GROUP BY minute, kind;
