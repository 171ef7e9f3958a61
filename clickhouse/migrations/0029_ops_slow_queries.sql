-- Queries of the API that took more than a second or failed, as the service saw them: the embedded ClickHouse keeps no log.
CREATE TABLE IF NOT EXISTS ops_slow_queries${local} ${cluster}
(
    time DateTime64(3, 'UTC') COMMENT 'When it ended' CODEC(Delta, ZSTD(1)),
    workspace_id UInt64 COMMENT 'As in the event tables',
    endpoint LowCardinality(String) COMMENT 'Such as GET /events',
    duration_ms UInt32 COMMENT 'Until its last row was here',
    read_rows UInt64 COMMENT 'Rows it read; 0 when unknown',
    read_bytes UInt64 COMMENT 'Bytes it read; 0 when unknown',
    error LowCardinality(String) COMMENT 'Name or code of the error; empty when there was none'
)
ENGINE = ${engine:MergeTree}
PARTITION BY toDate(time)
ORDER BY (time, workspace_id)
TTL toDateTime(time) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, default_compression_codec = 'ZSTD(1)', ttl_only_drop_parts = 1, ${deduplication};

${distributed:ops_slow_queries:workspace_id}

CREATE VIEW IF NOT EXISTS ops_top_workspaces ${cluster}
(
    day Date COMMENT 'Day of the events, UTC',
    workspace_id UInt64 COMMENT 'As in the event tables',
    clicks UInt64 COMMENT 'Clicks of the day',
    leads UInt64 COMMENT 'Leads of the day',
    sales UInt64 COMMENT 'Sales of the day',
    sale_amount Int64 COMMENT 'What they brought, in cents of a dollar'
)
AS SELECT
    toDate(s.slot, 'UTC') AS day,
    s.workspace_id AS workspace_id,
    sum(s.clicks) AS clicks,
    sum(s.leads) AS leads,
    sum(s.sales) AS sales,
    sum(s.sale_amount) AS sale_amount
FROM workspace_slots AS s
GROUP BY day, workspace_id;

CREATE VIEW IF NOT EXISTS ops_top_links ${cluster}
(
    day Date COMMENT 'Day of the events, UTC',
    workspace_id UInt64 COMMENT 'As in the event tables',
    link_id UInt64 COMMENT 'As in the event tables; links.id',
    clicks UInt64 COMMENT 'Clicks of the day',
    leads UInt64 COMMENT 'Leads of the day',
    sales UInt64 COMMENT 'Sales of the day',
    sale_amount Int64 COMMENT 'What they brought, in cents of a dollar'
)
AS SELECT
    d.day AS day,
    d.workspace_id AS workspace_id,
    d.link_id AS link_id,
    sum(d.clicks) AS clicks,
    sum(d.leads) AS leads,
    sum(d.sales) AS sales,
    sum(d.sale_amount) AS sale_amount
FROM link_days AS d
GROUP BY day, workspace_id, link_id;

CREATE VIEW IF NOT EXISTS ops_webhook_deliveries ${cluster}
(
    minute DateTime('UTC') COMMENT 'When they were attempted',
    workspace_id UInt64 COMMENT 'As in the event tables',
    webhook_id UInt64 COMMENT 'webhooks.id',
    event String COMMENT 'Such as link.clicked',
    attempts UInt64 COMMENT 'Deliveries attempted',
    delivered UInt64 COMMENT 'Answered with a status from 200 to 299',
    failed UInt64 COMMENT 'Answered otherwise, or not at all',
    elapsed_ms_p50 Float64 COMMENT 'Half of the receivers took no longer',
    elapsed_ms_p95 Float64 COMMENT 'Nineteen of twenty took no longer'
)
AS SELECT
    toStartOfMinute(d.timestamp, 'UTC') AS minute,
    d.workspace_id AS workspace_id,
    d.webhook_id AS webhook_id,
    toString(d.event) AS event,
    count() AS attempts,
    countIf(d.status BETWEEN 200 AND 299) AS delivered,
    countIf(d.status NOT BETWEEN 200 AND 299) AS failed,
    toFloat64(quantile(0.5)(d.elapsed_ms)) AS elapsed_ms_p50,
    toFloat64(quantile(0.95)(d.elapsed_ms)) AS elapsed_ms_p95
FROM webhook_deliveries AS d
GROUP BY minute, workspace_id, webhook_id, event;

CREATE VIEW IF NOT EXISTS ops_parts ${cluster}
(
    database String COMMENT 'Database of the table',
    table String COMMENT 'Name of the table; on a cluster with _local behind it',
    parts UInt64 COMMENT 'Active parts; inserts are slowed down by too many in one partition',
    parts_max UInt64 COMMENT 'Active parts of the partition that has most',
    rows UInt64 COMMENT 'Rows in them, before merging duplicates',
    bytes UInt64 COMMENT 'Their size on disk, compressed',
    merges UInt64 COMMENT 'Merges that run'
)
AS SELECT
    p.database AS database,
    p.table AS table,
    sum(p.parts) AS parts,
    max(p.parts) AS parts_max,
    sum(p.rows) AS rows,
    sum(p.bytes) AS bytes,
    sum(p.merges) AS merges
FROM
(
    SELECT database, table, partition_id, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, toUInt64(0) AS merges
    FROM ${nodes:system.parts}
    WHERE active AND database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
    GROUP BY database, table, partition_id
    UNION ALL
    SELECT database, table, '' AS partition_id, toUInt64(0) AS parts, toUInt64(0) AS rows, toUInt64(0) AS bytes, count() AS merges
    FROM ${nodes:system.merges}
    WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
    GROUP BY database, table
) AS p
GROUP BY database, table;

CREATE VIEW IF NOT EXISTS ops_disk ${cluster}
(
    node String COMMENT 'Host of the ClickHouse server',
    disk String COMMENT 'Name of the disk',
    free_bytes UInt64 COMMENT 'Left on it',
    total_bytes UInt64 COMMENT 'Its size',
    used_share Float64 COMMENT 'Used of it, from 0 to 1'
)
AS SELECT
    hostName() AS node,
    name AS disk,
    free_space AS free_bytes,
    total_space AS total_bytes,
    1 - free_space / greatest(total_space, 1) AS used_share
FROM ${nodes:system.disks};
