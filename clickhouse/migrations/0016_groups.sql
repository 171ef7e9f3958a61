-- Groups of partners.
CREATE TABLE IF NOT EXISTS groups${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    name String,
    slug String,
    color LowCardinality(String),
    program_id UInt64,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:groups:workspace_id}
