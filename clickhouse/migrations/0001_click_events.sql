-- One row a recorded click. Newest-first pages of a workspace are its most frequent read, hence the order; a click is found by
-- its id through the time inside the id. The projection serves reads of one link or a few.
CREATE TABLE IF NOT EXISTS click_events${local} ${cluster}
(
    workspace_id UInt64,
    timestamp DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    click_id FixedString(16),
    link_id UInt64,
    trigger LowCardinality(String),
    country LowCardinality(String),
    region LowCardinality(String),
    city LowCardinality(String),
    continent LowCardinality(String),
    device LowCardinality(String),
    browser LowCardinality(String),
    os LowCardinality(String),
    referer LowCardinality(String),
    referer_url LowCardinality(String),
    url String,
    url_base String,
    utm_source LowCardinality(String),
    utm_medium LowCardinality(String),
    utm_campaign LowCardinality(String),
    utm_term LowCardinality(String),
    utm_content LowCardinality(String),
    payload String,
    ip String,
    INDEX link_id_bloom link_id TYPE bloom_filter GRANULARITY 32,
    INDEX url_base_bloom url_base TYPE bloom_filter GRANULARITY 32,
    PROJECTION by_link
    (
        SELECT * ORDER BY workspace_id, link_id, timestamp, click_id
    ) WITH SETTINGS (index_granularity = 256)
)
ENGINE = ${engine:MergeTree}
PARTITION BY toYear(timestamp)
PRIMARY KEY (workspace_id, timestamp)
ORDER BY (workspace_id, timestamp, click_id)
SETTINGS
    index_granularity = 256,
    default_compression_codec = 'ZSTD(1)',
    lightweight_mutation_projection_mode = 'rebuild',
    enable_block_number_column = 1,
    enable_block_offset_column = 1,
    ${deduplication};

${distributed:click_events:workspace_id}
