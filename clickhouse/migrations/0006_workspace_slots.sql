-- Events of a workspace by quarter of an hour, so that zones at :30 and :45 stay exact.
CREATE TABLE IF NOT EXISTS workspace_slots${local} ${cluster}
(
    workspace_id UInt64,
    slot DateTime('UTC'),
    clicks SimpleAggregateFunction(sum, UInt64),
    leads SimpleAggregateFunction(sum, UInt64),
    sales SimpleAggregateFunction(sum, UInt64),
    sale_amount SimpleAggregateFunction(sum, Int64)
)
ENGINE = ${engine:AggregatingMergeTree}
ORDER BY (workspace_id, slot)
SETTINGS
    index_granularity = 256,
    default_compression_codec = 'ZSTD(1)',
    ${deduplication};

${distributed:workspace_slots:workspace_id}

CREATE MATERIALIZED VIEW IF NOT EXISTS workspace_slots_clicks_mv ${cluster} TO workspace_slots${local} AS
SELECT workspace_id, toStartOfFifteenMinutes(timestamp) AS slot, count() AS clicks
FROM click_events${local}
GROUP BY workspace_id, slot;

CREATE MATERIALIZED VIEW IF NOT EXISTS workspace_slots_leads_mv ${cluster} TO workspace_slots${local} AS
SELECT workspace_id, toStartOfFifteenMinutes(timestamp) AS slot, count() AS leads
FROM lead_events${local}
GROUP BY workspace_id, slot;

CREATE MATERIALIZED VIEW IF NOT EXISTS workspace_slots_sales_mv ${cluster} TO workspace_slots${local} AS
SELECT workspace_id, toStartOfFifteenMinutes(timestamp) AS slot, count() AS sales, sum(amount) AS sale_amount
FROM sale_events${local}
GROUP BY workspace_id, slot;
