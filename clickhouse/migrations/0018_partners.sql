-- Partners as a workspace's program has them. 0 and '' mean none.
CREATE TABLE IF NOT EXISTS partners${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    name String,
    email String,
    country LowCardinality(String),
    tenant_id String,
    group_id UInt64,
    program_id UInt64,
    partner_tag_ids Array(UInt64),
    status LowCardinality(String),
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:partners:workspace_id}
