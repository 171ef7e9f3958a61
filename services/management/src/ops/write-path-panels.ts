import { inRange, type OpsPanel, stepOf } from './panel-types.js';

const KINDS = [
  { name: 'clicks', tone: 'first' },
  { name: 'leads', tone: 'second' },
  { name: 'sales', tone: 'third' },
] as const;
const QUEUES = [...KINDS, { name: 'customers', tone: 'fourth' }, { name: 'webhooks', tone: 'fifth' }] as const;

/** The kind in a metric such as `queue_waiting:click`, or `queue_waiting:click@1` for queue shard 1. */
const KIND = "extract(metric, ':([a-z]+)')";

/** Panels about events between their request and ClickHouse. */
export const WRITE_PATH_PANELS: readonly OpsPanel[] = [
  {
    kind: 'plot',
    id: 'events',
    title: 'Events stored',
    about: 'Events stored and visible to queries, per minute, by kind.',
    empty: 'No events were stored in this range.',
    unit: 'per-minute',
    counted: 'per minute',
    series: KINDS,
    missing: 0,
    stepMin: 15,
    sql: `SELECT ${stepOf('time')} AS at, concat(kind, 's') AS name, sum(rows) * 60 / {step:UInt32} AS value
      FROM ops_batches WHERE ${inRange('time')} AND kind IN ('click', 'lead', 'sale') GROUP BY at, name`,
  },
  {
    kind: 'plot',
    id: 'lag',
    title: 'Ingestion lag',
    about: 'Time from an event until /events lists it.',
    empty: 'No events were stored in this range.',
    unit: 'milliseconds',
    series: [
      { name: 'median', tone: 'first' },
      { name: 'slowest', tone: 'fourth' },
    ],
    missing: null,
    stepMin: 15,
    sql: `SELECT at, pair.1 AS name, pair.2 AS value FROM (
        SELECT ${stepOf('time')} AS at,
          arrayJoin([
            ('median', toFloat64(quantileExactWeighted(0.5)(intDiv(lag_ms_min + lag_ms_max, 2), rows))),
            ('slowest', toFloat64(max(lag_ms_max)))
          ]) AS pair
        FROM ops_batches WHERE ${inRange('time')} AND kind IN ('click', 'lead', 'sale') GROUP BY at)`,
  },
  {
    kind: 'plot',
    id: 'queue',
    title: 'Queue depth',
    about: 'Jobs waiting to be stored, and pending webhook deliveries.',
    empty: 'The queues have not been measured in this range.',
    unit: 'count',
    counted: 'jobs',
    series: QUEUES,
    missing: null,
    stepMin: 15,
    sql: `SELECT at, concat(kind, 's') AS name, sum(most) AS value FROM (
        SELECT ${stepOf('time')} AS at, ${KIND} AS kind, metric, max(value) AS most
        FROM ops_samples WHERE match(metric, '^queue_(waiting|active|delayed):') AND ${inRange('time')}
        GROUP BY at, kind, metric)
      GROUP BY at, kind`,
  },
  {
    kind: 'plot',
    id: 'age',
    title: 'Oldest queued job',
    about: 'Waiting time of the oldest job.',
    empty: 'The queues have not been measured in this range.',
    unit: 'milliseconds',
    series: QUEUES,
    missing: null,
    stepMin: 15,
    sql: `SELECT ${stepOf('time')} AS at, concat(${KIND}, 's') AS name, max(value) AS value
      FROM ops_samples WHERE startsWith(metric, 'queue_oldest_ms:') AND ${inRange('time')} GROUP BY at, name`,
  },
  {
    kind: 'plot',
    id: 'batches',
    title: 'Batch size',
    about: 'Rows per insert of the writer.',
    empty: 'The writer inserted nothing in this range.',
    unit: 'count',
    counted: 'rows',
    series: [
      { name: 'average', tone: 'first' },
      { name: 'largest', tone: 'fourth' },
    ],
    missing: null,
    stepMin: 15,
    sql: `SELECT at, pair.1 AS name, pair.2 AS value FROM (
        SELECT ${stepOf('time')} AS at, arrayJoin([('average', avg(rows)), ('largest', toFloat64(max(rows)))]) AS pair
        FROM ops_batches WHERE ${inRange('time')} GROUP BY at)`,
  },
  {
    kind: 'plot',
    id: 'inserts',
    title: 'Insert time',
    about: 'Time from the first attempt until ClickHouse acknowledged the insert.',
    empty: 'The writer inserted nothing in this range.',
    unit: 'milliseconds',
    series: [
      { name: 'median', tone: 'first' },
      { name: 'slowest', tone: 'fourth' },
    ],
    missing: null,
    stepMin: 15,
    sql: `SELECT at, pair.1 AS name, pair.2 AS value FROM (
        SELECT ${stepOf('time')} AS at,
          arrayJoin([('median', toFloat64(quantile(0.5)(insert_ms))), ('slowest', toFloat64(max(insert_ms)))]) AS pair
        FROM ops_batches WHERE ${inRange('time')} GROUP BY at)`,
  },
  {
    kind: 'plot',
    id: 'dead-letters',
    title: 'Dead letters',
    about: 'Rows refused by ClickHouse or the checks of the writer. See npx waymark dead-letters.',
    empty: 'Dead letters have not been counted in this range.',
    unit: 'count',
    counted: 'rows',
    series: [{ name: 'waiting', tone: 'bad' }],
    missing: null,
    stepMin: 15,
    sql: `SELECT ${stepOf('time')} AS at, 'waiting' AS name, max(value) AS value
      FROM ops_samples WHERE metric = 'dead_letters' AND ${inRange('time')} GROUP BY at`,
  },
  {
    kind: 'plot',
    id: 'deliveries',
    title: 'Webhook deliveries',
    about: 'Delivery attempts per minute, by outcome.',
    empty: 'Nothing was delivered to webhooks in this range.',
    unit: 'per-minute',
    counted: 'per minute',
    series: [
      { name: 'delivered', tone: 'second' },
      { name: 'failed', tone: 'bad' },
    ],
    missing: 0,
    stepMin: 60,
    sql: `SELECT at, pair.1 AS name, pair.2 * 60 / {step:UInt32} AS value FROM (
        SELECT ${stepOf('minute')} AS at, arrayJoin([('delivered', sum(delivered)), ('failed', sum(failed))]) AS pair
        FROM ops_webhook_deliveries WHERE ${inRange('minute')} GROUP BY at)`,
  },
];
