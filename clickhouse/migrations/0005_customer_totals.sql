-- Counters of customers.
CREATE TABLE IF NOT EXISTS customer_totals${local} ${cluster}
(
    workspace_id UInt64,
    customer_id UInt64,
    leads SimpleAggregateFunction(sum, UInt64),
    sales SimpleAggregateFunction(sum, UInt64),
    sale_amount SimpleAggregateFunction(sum, Int64),
    first_sale_at SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC')))
)
ENGINE = ${engine:AggregatingMergeTree}
ORDER BY (workspace_id, customer_id)
SETTINGS
    index_granularity = 256,
    default_compression_codec = 'ZSTD(1)',
    ${deduplication};

${distributed:customer_totals:workspace_id}

CREATE MATERIALIZED VIEW IF NOT EXISTS customer_totals_leads_mv ${cluster} TO customer_totals${local} AS
SELECT workspace_id, customer_id, count() AS leads
FROM lead_events${local}
GROUP BY workspace_id, customer_id;

CREATE MATERIALIZED VIEW IF NOT EXISTS customer_totals_sales_mv ${cluster} TO customer_totals${local} AS
SELECT workspace_id, customer_id, count() AS sales, sum(amount) AS sale_amount, min(timestamp) AS first_sale_at
FROM sale_events${local}
GROUP BY workspace_id, customer_id;
