-- One row an attempt to deliver an event to a webhook, kept for thirty days. Whole days leave at once, so nothing is rewritten.
-- request_body is what was sent, but for a link's password, which stands there as it is stored: encrypted.
CREATE TABLE IF NOT EXISTS webhook_deliveries${local} ${cluster}
(
    workspace_id UInt64,
    timestamp DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    webhook_id UInt64,
    event_id String,
    event LowCardinality(String),
    attempt UInt8,
    url LowCardinality(String),
    status UInt16,
    elapsed_ms UInt32,
    error LowCardinality(String),
    request_body String CODEC(ZSTD(3)),
    response_body String CODEC(ZSTD(3))
)
ENGINE = ${engine:MergeTree}
PARTITION BY toDate(timestamp)
ORDER BY (workspace_id, timestamp, event_id)
TTL toDateTime(timestamp) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, default_compression_codec = 'ZSTD(1)', ttl_only_drop_parts = 1;

${distributed:webhook_deliveries:workspace_id}
