-- Imports of links, which run in the background.
CREATE TABLE IF NOT EXISTS import_jobs${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    status String,
    hides_folders UInt8,
    hides_passwords UInt8,
    has_files UInt8,
    unreported UInt8,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:import_jobs:workspace_id}
