-- What each service measures every ten seconds and ClickHouse does not know. Names of metrics: clickhouse/README.md.
CREATE TABLE IF NOT EXISTS ops_samples${local} ${cluster}
(
    time DateTime64(3, 'UTC') COMMENT 'When it was measured' CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) COMMENT 'http, ingest, query, management, writer or webhooks',
    instance LowCardinality(String) COMMENT 'Host and process id',
    metric LowCardinality(String) COMMENT 'What was measured; behind a colon a kind of job or a table',
    value Float64 COMMENT 'Its value then, in the unit that the name ends with'
)
ENGINE = ${engine:MergeTree}
PARTITION BY toDate(time)
ORDER BY (metric, time)
TTL toDateTime(time) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, default_compression_codec = 'ZSTD(1)', ttl_only_drop_parts = 1, ${deduplication};

${distributed:ops_samples:rand()}

CREATE VIEW IF NOT EXISTS ops_dead_letters ${cluster}
(
    minute DateTime('UTC') COMMENT 'When it was measured',
    dead_letters UInt64 COMMENT 'Rows that ClickHouse refused and that wait for a command'
)
AS SELECT toStartOfMinute(s.time, 'UTC') AS minute, toUInt64(max(s.value)) AS dead_letters
FROM ops_samples AS s
WHERE s.metric = 'dead_letters'
GROUP BY minute;

CREATE VIEW IF NOT EXISTS ops_table_growth ${cluster}
(
    hour DateTime('UTC') COMMENT 'When it was measured',
    table String COMMENT 'Name of the table',
    rows UInt64 COMMENT 'Its rows at the end of the hour, before merging duplicates',
    bytes UInt64 COMMENT 'Their size on disk, compressed'
)
AS SELECT
    toStartOfHour(s.time, 'UTC') AS hour,
    substring(toString(s.metric), position(toString(s.metric), ':') + 1) AS table,
    toUInt64(argMaxIf(s.value, s.time, startsWith(s.metric, 'table_rows:'))) AS rows,
    toUInt64(argMaxIf(s.value, s.time, startsWith(s.metric, 'table_bytes:'))) AS bytes
FROM ops_samples AS s
WHERE startsWith(s.metric, 'table_')
GROUP BY hour, table;
