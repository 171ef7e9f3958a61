-- One row a recorded sale. sale_type (new, recurring) is decided when the sale is accepted; amount is in cents of USD unless no
-- rate was known.
CREATE TABLE IF NOT EXISTS sale_events${local} ${cluster}
(
    workspace_id UInt64,
    timestamp DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    event_id FixedString(16),
    event_name LowCardinality(String),
    customer_id UInt64,
    link_id UInt64,
    click_id FixedString(16),
    click_timestamp DateTime64(3, 'UTC'),
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
    metadata_kv Array(String),
    payload String,
    ip String,
    invoice_id String,
    amount Int64,
    sale_type LowCardinality(String),
    INDEX link_id_bloom link_id TYPE bloom_filter GRANULARITY 32,
    INDEX url_base_bloom url_base TYPE bloom_filter GRANULARITY 32,
    INDEX metadata_kv_bloom metadata_kv TYPE bloom_filter GRANULARITY 4,
    INDEX customer_id_bloom customer_id TYPE bloom_filter GRANULARITY 4,
    INDEX invoice_id_bloom invoice_id TYPE bloom_filter GRANULARITY 4,
    PROJECTION by_link
    (
        SELECT * ORDER BY workspace_id, link_id, timestamp, event_id
    ) WITH SETTINGS (index_granularity = 512)
)
ENGINE = ${engine:MergeTree}
PARTITION BY toYear(timestamp)
PRIMARY KEY (workspace_id, timestamp)
ORDER BY (workspace_id, timestamp, event_id)
SETTINGS
    index_granularity = 512,
    default_compression_codec = 'ZSTD(1)',
    lightweight_mutation_projection_mode = 'rebuild',
    enable_block_number_column = 1,
    enable_block_offset_column = 1,
    ${deduplication};

${distributed:sale_events:workspace_id}
