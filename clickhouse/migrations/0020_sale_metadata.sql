-- As 0019, for sales.
ALTER TABLE sale_events${local} ${cluster}
    ADD COLUMN IF NOT EXISTS metadata_paths Array(LowCardinality(String))
        MATERIALIZED arrayMap(pair -> extract(pair, '(?s)^((?:[^\\\\=]|\\\\.)*=)'), metadata_kv),
    ADD COLUMN IF NOT EXISTS metadata_numbers Array(Float64)
        MATERIALIZED arrayMap(
            number -> if(isFinite(number), number, nan),
            arrayMap(
                (pair, path) -> ifNull(toFloat64OrNull(substring(pair, length(path) + 1)), nan),
                metadata_kv,
                metadata_paths)),
    ADD INDEX IF NOT EXISTS metadata_paths_bloom metadata_paths TYPE bloom_filter GRANULARITY 4;

-- On a cluster this is the Distributed table; on one node nothing is left to add.
ALTER TABLE sale_events ${cluster}
    ADD COLUMN IF NOT EXISTS metadata_paths Array(LowCardinality(String)) MATERIALIZED [],
    ADD COLUMN IF NOT EXISTS metadata_numbers Array(Float64) MATERIALIZED [];
