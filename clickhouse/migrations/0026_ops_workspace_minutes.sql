-- What was stored for each workspace: one row a group of the writer, workspace and minute.
CREATE TABLE IF NOT EXISTS ops_workspace_minutes${local} ${cluster}
(
    minute DateTime('UTC') COMMENT 'When the events were stored' CODEC(Delta, ZSTD(1)),
    workspace_id UInt64 COMMENT 'As in the event tables',
    kind LowCardinality(String) COMMENT 'click, lead or sale',
    events UInt32 COMMENT 'Events stored',
    lag_ms_max Int64 COMMENT 'Longest time from an event to its being stored'
)
ENGINE = ${engine:MergeTree}
PARTITION BY toDate(minute)
ORDER BY (minute, workspace_id, kind)
TTL minute + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, default_compression_codec = 'ZSTD(1)', ttl_only_drop_parts = 1, ${deduplication};

${distributed:ops_workspace_minutes:workspace_id}

CREATE VIEW IF NOT EXISTS ops_events_per_minute ${cluster}
(
    minute DateTime('UTC') COMMENT 'When the events were stored',
    workspace_id UInt64 COMMENT 'As in the event tables',
    kind String COMMENT 'click, lead or sale',
    events UInt64 COMMENT 'Events stored'
)
AS SELECT m.minute AS minute, m.workspace_id AS workspace_id, toString(m.kind) AS kind, sum(m.events) AS events
FROM ops_workspace_minutes AS m
GROUP BY minute, workspace_id, kind;

CREATE VIEW IF NOT EXISTS ops_event_lag ${cluster}
(
    minute DateTime('UTC') COMMENT 'When the events were stored',
    workspace_id UInt64 COMMENT 'As in the event tables',
    kind String COMMENT 'click, lead or sale',
    events UInt64 COMMENT 'Events stored',
    lag_ms_max Int64 COMMENT 'Longest time from an event to its being visible'
)
AS SELECT
    m.minute AS minute,
    m.workspace_id AS workspace_id,
    toString(m.kind) AS kind,
    sum(m.events) AS events,
    max(m.lag_ms_max) AS lag_ms_max
FROM ops_workspace_minutes AS m
GROUP BY minute, workspace_id, kind;
