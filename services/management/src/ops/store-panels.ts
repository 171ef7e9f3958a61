import { inRange, type OpsPanel } from './panel-types.js';

/** Panels about queries, workspaces and storage. */
export const STORE_PANELS: readonly OpsPanel[] = [
  {
    kind: 'table',
    id: 'slow-queries',
    title: 'Slow and failing queries',
    about: 'Queries of the API that took over a second or failed, by endpoint.',
    empty: 'No query took over a second, and none failed.',
    columns: [
      { title: 'Endpoint', cell: 'text' },
      { title: 'Slow', cell: 'count' },
      { title: 'Failed', cell: 'count' },
      { title: 'Slowest', cell: 'milliseconds' },
      { title: 'Last error', cell: 'text' },
      { title: 'Last', cell: 'time' },
    ],
    sql: `SELECT endpoint, countIf(error = '') AS slow, countIf(error != '') AS failed, max(duration_ms) AS slowest,
        argMaxIf(error, time, error != '') AS last_error, toUnixTimestamp64Milli(max(time)) AS last
      FROM ops_slow_queries WHERE ${inRange('time')}
      GROUP BY endpoint ORDER BY failed DESC, slow DESC, endpoint LIMIT 8`,
  },
  {
    kind: 'table',
    id: 'workspaces',
    title: 'Top workspaces',
    about: 'Workspaces with the most events stored in the range.',
    empty: 'No workspace has events in this range.',
    columns: [
      { title: 'Workspace', cell: 'text' },
      { title: 'Clicks', cell: 'count' },
      { title: 'Leads', cell: 'count' },
      { title: 'Sales', cell: 'count' },
      { title: 'Share', cell: 'bar' },
    ],
    sql: `SELECT if(slug = '', 'removed', slug) AS workspace, clicks, leads, sales, events / sum(events) OVER () AS share
      FROM (
        SELECT workspace_id, sumIf(e.events, kind = 'click') AS clicks, sumIf(e.events, kind = 'lead') AS leads,
          sumIf(e.events, kind = 'sale') AS sales, sum(e.events) AS events
        FROM ops_workspace_minutes AS e WHERE ${inRange('minute')} GROUP BY workspace_id
      ) AS counted
      LEFT JOIN (SELECT workspace_id, argMax(slug, version) AS slug FROM workspaces GROUP BY workspace_id) AS named
        USING (workspace_id)
      ORDER BY events DESC, workspace LIMIT 8`,
  },
  {
    kind: 'table',
    id: 'tables',
    title: 'Tables',
    about: 'The largest tables now, and their growth in the range.',
    empty: 'There are no rows in any table.',
    columns: [
      { title: 'Table', cell: 'text' },
      { title: 'Rows', cell: 'count' },
      { title: 'Parts', cell: 'count' },
      { title: 'On disk', cell: 'bytes' },
      { title: 'Growth', cell: 'bytes' },
    ],
    // The first measurement of the range. A table that has none in it has no known growth.
    sql: `SELECT table, rows, parts, bytes,
        if(isNull(bytes_before), NULL, greatest(toInt64(bytes) - toInt64(bytes_before), 0)) AS gained
      FROM (SELECT table, rows, parts, bytes FROM ops_parts WHERE database = currentDatabase()) AS present
      LEFT JOIN (
        SELECT substring(toString(metric), 13) AS table, toNullable(argMin(value, time)) AS bytes_before
        FROM ops_samples WHERE startsWith(metric, 'table_bytes:') AND ${inRange('time')} GROUP BY metric
      ) AS before USING (table)
      ORDER BY bytes DESC, table LIMIT 6`,
  },
  {
    kind: 'table',
    id: 'queue-shards',
    title: 'Queue shards',
    about: 'Each Redis of the queue, at its last measurement in the range.',
    empty: 'The queues have not been measured in this range.',
    columns: [
      { title: 'Shard', cell: 'count' },
      { title: 'Jobs', cell: 'count' },
      { title: 'Oldest', cell: 'milliseconds' },
      { title: 'Memory', cell: 'bytes' },
      { title: 'Used', cell: 'bar' },
      { title: 'Measured', cell: 'time' },
    ],
    sql: `SELECT shard, sumIf(last, match(name, '^queue_(waiting|active|delayed)$')) AS jobs,
        maxIf(last, name = 'queue_oldest_ms') AS oldest,
        maxIf(last, name = 'redis_used_bytes') AS used,
        used / nullIf(maxIf(last, name = 'redis_limit_bytes'), 0) AS share, toUnixTimestamp64Milli(max(measured)) AS measured_at
      FROM (
        SELECT toUInt32OrZero(extract(metric, '@([0-9]+)')) AS shard, extract(metric, '^[a-z_]+') AS name, metric,
          argMax(value, time) AS last, max(time) AS measured
        FROM ops_samples WHERE match(metric, '^(queue|redis)_') AND ${inRange('time')} GROUP BY metric)
      GROUP BY shard ORDER BY shard LIMIT 64`,
  },
  {
    kind: 'table',
    id: 'disks',
    title: 'Disks',
    about: 'Disks of the ClickHouse servers.',
    empty: 'ClickHouse reports no disks.',
    columns: [
      { title: 'Server', cell: 'text' },
      { title: 'Disk', cell: 'text' },
      { title: 'Free', cell: 'bytes' },
      { title: 'Size', cell: 'bytes' },
      { title: 'Used', cell: 'bar' },
    ],
    sql: `SELECT node, disk, free_bytes, total_bytes, used_share FROM ops_disk ORDER BY used_share DESC, node, disk LIMIT 8`,
  },
];
