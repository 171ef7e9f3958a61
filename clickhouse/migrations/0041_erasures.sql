-- Erasures of persons: who asked for what, and how far it is. `subject_hash` is a keyed hash of the external id, so that rows that
-- arrive late are found without keeping the id.
CREATE TABLE IF NOT EXISTS erasures${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    status LowCardinality(String),
    subject_hash String,
    customer_ids Array(UInt64),
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:erasures:workspace_id}

-- The numbers were made from metadata_kv and from metadata_paths, which is made from it too. An update of metadata_kv computes both anew,
-- but the numbers from the paths as they were, and fails. The same values, from metadata_kv alone.
ALTER TABLE lead_events${local} ${cluster}
    MODIFY COLUMN metadata_numbers Array(Float64)
        MATERIALIZED arrayMap(
            number -> if(isFinite(number), number, nan),
            arrayMap(
                pair -> ifNull(toFloat64OrNull(substring(pair, length(extract(pair, '(?s)^((?:[^\\\\=]|\\\\.)*=)')) + 1)), nan),
                metadata_kv));

ALTER TABLE sale_events${local} ${cluster}
    MODIFY COLUMN metadata_numbers Array(Float64)
        MATERIALIZED arrayMap(
            number -> if(isFinite(number), number, nan),
            arrayMap(
                pair -> ifNull(toFloat64OrNull(substring(pair, length(extract(pair, '(?s)^((?:[^\\\\=]|\\\\.)*=)')) + 1)), nan),
                metadata_kv));
