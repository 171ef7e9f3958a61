-- Exports that are made in the background.
CREATE TABLE IF NOT EXISTS export_jobs${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    status String,
    resource String,
    hides_folders UInt8,
    hides_passwords UInt8,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:export_jobs:workspace_id}
