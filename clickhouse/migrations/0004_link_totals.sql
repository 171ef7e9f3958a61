-- Counters of links. Read with sum() and max() … GROUP BY, never as rows: parts that are not merged yet hold several.
CREATE TABLE IF NOT EXISTS link_totals${local} ${cluster}
(
    workspace_id UInt64,
    link_id UInt64,
    clicks SimpleAggregateFunction(sum, UInt64),
    leads SimpleAggregateFunction(sum, UInt64),
    conversions SimpleAggregateFunction(sum, UInt64),
    sales SimpleAggregateFunction(sum, UInt64),
    sale_amount SimpleAggregateFunction(sum, Int64),
    last_clicked SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = ${engine:AggregatingMergeTree}
ORDER BY (workspace_id, link_id)
SETTINGS
    index_granularity = 256,
    default_compression_codec = 'ZSTD(1)',
    ${deduplication};

${distributed:link_totals:workspace_id}

CREATE MATERIALIZED VIEW IF NOT EXISTS link_totals_clicks_mv ${cluster} TO link_totals${local} AS
SELECT workspace_id, link_id, count() AS clicks, max(timestamp) AS last_clicked
FROM click_events${local}
GROUP BY workspace_id, link_id;

CREATE MATERIALIZED VIEW IF NOT EXISTS link_totals_leads_mv ${cluster} TO link_totals${local} AS
SELECT workspace_id, link_id, count() AS leads
FROM lead_events${local}
GROUP BY workspace_id, link_id;

CREATE MATERIALIZED VIEW IF NOT EXISTS link_totals_sales_mv ${cluster} TO link_totals${local} AS
SELECT workspace_id, link_id, count() AS sales, sum(amount) AS sale_amount, countIf(sale_type = 'new') AS conversions
FROM sale_events${local}
GROUP BY workspace_id, link_id;
