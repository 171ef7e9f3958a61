-- Parts are counted by server: ClickHouse slows inserts down by the parts of a partition on the server that takes them.
CREATE OR REPLACE VIEW ops_parts ${cluster}
(
    database String COMMENT 'Database of the table',
    table String COMMENT 'Name of the table; on a cluster with _local behind it',
    parts UInt64 COMMENT 'Active parts of all servers',
    parts_max UInt64 COMMENT 'Active parts of the partition that has most on one server; too many slow inserts down',
    rows UInt64 COMMENT 'Rows in all parts, before merging duplicates; on a cluster those of every replica',
    bytes UInt64 COMMENT 'Their size on disk, compressed',
    merges UInt64 COMMENT 'Merges that run on all servers'
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
    SELECT database, table, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, toUInt64(0) AS merges
    FROM ${nodes:system.parts}
    WHERE active AND database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
    GROUP BY database, table, partition_id, hostName()
    UNION ALL
    SELECT database, table, toUInt64(0) AS parts, toUInt64(0) AS rows, toUInt64(0) AS bytes, count() AS merges
    FROM ${nodes:system.merges}
    WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
    GROUP BY database, table
) AS p
GROUP BY database, table;

ALTER TABLE ops_table_growth ${cluster}
    COMMENT COLUMN rows 'Its rows at the end of the hour, before merging duplicates; on a cluster those of every replica';
