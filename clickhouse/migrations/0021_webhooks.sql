-- Webhooks: who is told of what. Secrets inside `data` are encrypted.
CREATE TABLE IF NOT EXISTS webhooks${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    name String,
    url String,
    triggers Array(LowCardinality(String)),
    link_scope LowCardinality(String),
    disabled UInt8,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:webhooks:workspace_id}
