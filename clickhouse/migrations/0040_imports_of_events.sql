-- Ids that another system gave to clicks which were imported: the browsers of its visitors still send them. Looked up only for ids that no
-- click here has, and only in workspaces that imported some. A row that is written again replaces itself.
CREATE TABLE IF NOT EXISTS click_aliases${local} ${cluster}
(
    workspace_id UInt64,
    alias String,
    click_id FixedString(16),
    clicked_at DateTime64(3, 'UTC')
)
ENGINE = ${engine:ReplacingMergeTree}
ORDER BY (workspace_id, alias)
SETTINGS index_granularity = 256, default_compression_codec = 'LZ4';

${distributed:click_aliases:workspace_id}

-- How many events of each month an import has stored, by its batches: events of another system are no usage here.
CREATE TABLE IF NOT EXISTS imported_counts${local} ${cluster}
(
    workspace_id UInt64,
    month Date,
    batch String,
    events UInt64
)
ENGINE = ${engine:ReplacingMergeTree}
ORDER BY (workspace_id, month, batch)
SETTINGS index_granularity = 256, default_compression_codec = 'ZSTD(1)';

${distributed:imported_counts:workspace_id}
