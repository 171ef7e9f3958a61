-- Events of a link by UTC day.
CREATE TABLE IF NOT EXISTS link_days${local} ${cluster}
(
    workspace_id UInt64,
    link_id UInt64,
    day Date,
    clicks SimpleAggregateFunction(sum, UInt64),
    leads SimpleAggregateFunction(sum, UInt64),
    sales SimpleAggregateFunction(sum, UInt64),
    sale_amount SimpleAggregateFunction(sum, Int64)
)
ENGINE = ${engine:AggregatingMergeTree}
ORDER BY (workspace_id, link_id, day)
SETTINGS
    index_granularity = 256,
    default_compression_codec = 'ZSTD(1)',
    ${deduplication};

${distributed:link_days:workspace_id}

CREATE MATERIALIZED VIEW IF NOT EXISTS link_days_clicks_mv ${cluster} TO link_days${local} AS
SELECT workspace_id, link_id, toDate(timestamp, 'UTC') AS day, count() AS clicks
FROM click_events${local}
GROUP BY workspace_id, link_id, day;

CREATE MATERIALIZED VIEW IF NOT EXISTS link_days_leads_mv ${cluster} TO link_days${local} AS
SELECT workspace_id, link_id, toDate(timestamp, 'UTC') AS day, count() AS leads
FROM lead_events${local}
GROUP BY workspace_id, link_id, day;

CREATE MATERIALIZED VIEW IF NOT EXISTS link_days_sales_mv ${cluster} TO link_days${local} AS
SELECT workspace_id, link_id, toDate(timestamp, 'UTC') AS day, count() AS sales, sum(amount) AS sale_amount
FROM sale_events${local}
GROUP BY workspace_id, link_id, day;
