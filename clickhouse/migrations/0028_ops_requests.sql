-- Requests answered, counted by each service and handed over every ten seconds.
CREATE TABLE IF NOT EXISTS ops_requests${local} ${cluster}
(
    minute DateTime('UTC') COMMENT 'When they were answered' CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) COMMENT 'http, ingest, query, management or writer',
    route LowCardinality(String) COMMENT 'Method and pattern, such as GET /links/:linkId; never a path as it was asked for',
    plan LowCardinality(String) COMMENT 'Plan of the workspace that asked; empty without a key',
    status UInt16 COMMENT 'HTTP status',
    requests UInt32 COMMENT 'How many',
    limited UInt32 COMMENT 'How many of them were over a rate limit',
    duration_ms_sum Float64 COMMENT 'Time they took together',
    duration_ms_max Float64 COMMENT 'Time the slowest took',
    duration_ms Array(UInt32) COMMENT 'How many took at most 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 ms and longer, each request in one place'
)
ENGINE = ${engine:MergeTree}
PARTITION BY toDate(minute)
ORDER BY (minute, service, route)
TTL minute + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, default_compression_codec = 'ZSTD(1)', ttl_only_drop_parts = 1, ${deduplication};

${distributed:ops_requests:rand()}

CREATE VIEW IF NOT EXISTS ops_slow_requests ${cluster}
(
    minute DateTime('UTC') COMMENT 'When they were answered',
    service String COMMENT 'Which service answered',
    route String COMMENT 'Method and pattern',
    requests UInt64 COMMENT 'How many',
    failed UInt64 COMMENT 'How many of them with a status of 500 or above',
    duration_ms_avg Float64 COMMENT 'Time a request took',
    duration_ms_p95 Float64 COMMENT 'Nineteen of twenty took no longer; the upper end of the bucket, the slowest beyond 10 s',
    duration_ms_max Float64 COMMENT 'Time the slowest took'
)
AS SELECT
    r.minute AS minute,
    toString(r.service) AS service,
    toString(r.route) AS route,
    sum(r.requests) AS requests,
    sumIf(r.requests, r.status >= 500) AS failed,
    sum(r.duration_ms_sum) / greatest(sum(r.requests), 1) AS duration_ms_avg,
    least(
        arrayElement(
            [1., 2., 5., 10., 25., 50., 100., 250., 500., 1000., 2500., 5000., 10000., inf],
            arrayFirstIndex(counted -> counted >= 0.95 * sum(r.requests), arrayCumSum(sumForEach(r.duration_ms)))
        ),
        max(r.duration_ms_max)
    ) AS duration_ms_p95,
    max(r.duration_ms_max) AS duration_ms_max
FROM ops_requests AS r
GROUP BY minute, service, route;

CREATE VIEW IF NOT EXISTS ops_limited_requests ${cluster}
(
    minute DateTime('UTC') COMMENT 'When they were answered',
    plan String COMMENT 'Plan of the workspace that asked; empty without a key',
    route String COMMENT 'Method and pattern',
    requests UInt64 COMMENT 'How many',
    limited UInt64 COMMENT 'How many of them were over a rate limit'
)
AS SELECT
    r.minute AS minute,
    toString(r.plan) AS plan,
    toString(r.route) AS route,
    sum(r.requests) AS requests,
    sum(r.limited) AS limited
FROM ops_requests AS r
GROUP BY minute, plan, route;
