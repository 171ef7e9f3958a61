-- Templates of UTM values.
CREATE TABLE IF NOT EXISTS utm_templates${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    name String,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:utm_templates:workspace_id}
