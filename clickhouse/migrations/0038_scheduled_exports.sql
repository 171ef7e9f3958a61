-- When an event was stored: scheduled exports read by it, so that events that arrive late are in the next file. The writer gives it
-- with each insert; rows without it, which are older or of a writer of the previous release, count as stored when they happened. Rows lie
-- in the order of time, so a granule spans little of it, and the index finds the few that a window needs. About a byte a row.
ALTER TABLE click_events${local} ${cluster}
    ADD COLUMN IF NOT EXISTS stored_at DateTime64(3, 'UTC') DEFAULT timestamp CODEC(Delta, ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at_range stored_at TYPE minmax GRANULARITY 1;

ALTER TABLE lead_events${local} ${cluster}
    ADD COLUMN IF NOT EXISTS stored_at DateTime64(3, 'UTC') DEFAULT timestamp CODEC(Delta, ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at_range stored_at TYPE minmax GRANULARITY 1;

ALTER TABLE sale_events${local} ${cluster}
    ADD COLUMN IF NOT EXISTS stored_at DateTime64(3, 'UTC') DEFAULT timestamp CODEC(Delta, ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at_range stored_at TYPE minmax GRANULARITY 1;

-- On a cluster these are the Distributed tables; on one node nothing is left to add.
ALTER TABLE click_events ${cluster}
    ADD COLUMN IF NOT EXISTS stored_at DateTime64(3, 'UTC') DEFAULT timestamp;

ALTER TABLE lead_events ${cluster}
    ADD COLUMN IF NOT EXISTS stored_at DateTime64(3, 'UTC') DEFAULT timestamp;

ALTER TABLE sale_events ${cluster}
    ADD COLUMN IF NOT EXISTS stored_at DateTime64(3, 'UTC') DEFAULT timestamp;

-- Exports that are repeated every hour, day or week.
CREATE TABLE IF NOT EXISTS export_schedules${local} ${cluster}
(
    workspace_id UInt64,
    id UInt64,
    version UInt64,
    deleted UInt8,
    resource String,
    hides_folders UInt8,
    hides_passwords UInt8,
    disabled UInt8,
    unreported UInt8,
    created_at DateTime64(3, 'UTC'),
    data String
)
ENGINE = ${engine:ReplacingMergeTree(version, deleted)}
ORDER BY (workspace_id, id)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:export_schedules:workspace_id}

-- Whether the webhooks of the workspace still have to be sent the end of a job.
ALTER TABLE export_jobs${local} ${cluster}
    ADD COLUMN IF NOT EXISTS unreported UInt8 DEFAULT 0;

ALTER TABLE export_jobs ${cluster}
    ADD COLUMN IF NOT EXISTS unreported UInt8 DEFAULT 0;
