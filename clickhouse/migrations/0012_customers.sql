-- Customers, first met by a lead or a direct sale.
CREATE TABLE IF NOT EXISTS customers${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    external_id String,
    email String,
    country LowCardinality(String),
    link_id UInt64,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:customers:workspace_id}
