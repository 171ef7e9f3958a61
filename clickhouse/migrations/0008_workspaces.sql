-- Workspaces; workspace_id and id are the same. `data` is the whole record as JSON, the other columns are for filters.
CREATE TABLE IF NOT EXISTS workspaces${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    slug String,
    plan LowCardinality(String),
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:workspaces:workspace_id}
