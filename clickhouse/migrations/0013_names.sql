-- Who owns a name: everything that must be unique or is looked up without its workspace. The id is part of the order so that
-- two rows for one name both survive and the older id can win.
CREATE TABLE IF NOT EXISTS names${local} ${cluster}
(
    kind LowCardinality(String),
    scope String,
    name String,
    id UInt64,
    workspace_id UInt64,
    version UInt64,
    deleted UInt8
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (kind, scope, name, id)
SETTINGS index_granularity = 64, default_compression_codec = 'ZSTD(1)';

${distributed:names:cityHash64(kind, scope, name)}
