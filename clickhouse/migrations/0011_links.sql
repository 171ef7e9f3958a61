-- Short links. 0 and '' mean none; passwords inside `data` are encrypted.
CREATE TABLE IF NOT EXISTS links${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    domain String,
    key String,
    url String,
    external_id String,
    tenant_id String,
    folder_id UInt64,
    tag_ids Array(UInt64),
    partner_id UInt64,
    program_id UInt64,
    user_id String,
    archived UInt8,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:links:workspace_id}
