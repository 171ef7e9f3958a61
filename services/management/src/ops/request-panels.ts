import { DURATION_BOUNDS_MS } from '@waymark/clickhouse';
import { inRange, type OpsPanel, stepOf } from './panel-types.js';

/** SQL for the upper bounds of the buckets in `ops_requests.duration_ms`; the last bucket ends with the slowest request. */
const BUCKET_ENDS = `[${DURATION_BOUNDS_MS.map((bound) => `${bound}.`).join(', ')}, inf]`;
/** SQL for the upper bound of the bucket that contains a quantile of the response times. */
const quantileOf = (share: number) =>
  `least(arrayElement(${BUCKET_ENDS}, arrayFirstIndex(c -> c >= ${share} * sum(requests), arrayCumSum(sumForEach(duration_ms)))), max(duration_ms_max))`;

/** Panels about requests and the memory of Redis. */
export const REQUEST_PANELS: readonly OpsPanel[] = [
  {
    kind: 'plot',
    id: 'requests',
    title: 'Requests',
    about: 'Responses per minute by status class.',
    empty: 'No requests were answered in this range.',
    unit: 'per-minute',
    counted: 'per minute',
    series: [
      { name: '2xx', tone: 'first' },
      { name: '3xx', tone: 'second' },
      { name: '4xx', tone: 'third' },
      { name: '5xx', tone: 'bad' },
    ],
    missing: 0,
    stepMin: 60,
    sql: `SELECT ${stepOf('minute')} AS at, concat(toString(intDiv(status, 100)), 'xx') AS name,
        sum(requests) * 60 / {step:UInt32} AS value
      FROM ops_requests WHERE ${inRange('minute')} GROUP BY at, name`,
  },
  {
    kind: 'plot',
    id: 'durations',
    title: 'Response time',
    about: 'Response time over all routes (median, p95), rounded up: 260 ms are 500 ms.',
    empty: 'No requests were answered in this range.',
    unit: 'milliseconds',
    series: [
      { name: 'median', tone: 'first' },
      { name: '95 %', tone: 'fourth' },
    ],
    missing: null,
    stepMin: 60,
    sql: `SELECT at, pair.1 AS name, pair.2 AS value FROM (
        SELECT ${stepOf('minute')} AS at,
          arrayJoin([('median', ${quantileOf(0.5)}), ('95 %', ${quantileOf(0.95)})]) AS pair
        FROM ops_requests WHERE ${inRange('minute')} GROUP BY at)`,
  },
  {
    kind: 'plot',
    id: 'limited',
    title: 'Rate-limited requests',
    about: 'Requests per minute that exceeded a rate limit, by plan.',
    empty: 'No requests were answered in this range.',
    unit: 'per-minute',
    counted: 'per minute',
    series: [
      { name: 'free', tone: 'first' },
      { name: 'pro', tone: 'second' },
      { name: 'business', tone: 'third' },
      { name: 'advanced', tone: 'fourth' },
      { name: 'enterprise', tone: 'fifth' },
      { name: 'no key', tone: 'bad' },
    ],
    missing: 0,
    stepMin: 60,
    sql: `SELECT ${stepOf('minute')} AS at, if(plan = '', 'no key', plan) AS name, sum(limited) * 60 / {step:UInt32} AS value
      FROM ops_limited_requests WHERE ${inRange('minute')} GROUP BY at, name`,
  },
  {
    kind: 'plot',
    id: 'redis-memory',
    title: 'Redis memory',
    about:
      'Memory in use and its limit, of the fullest queue shard. Above 70 % conversions on /track are rejected with 429, above 85 % clicks are spooled to disk.',
    empty: 'The memory of Redis has not been measured in this range.',
    unit: 'bytes',
    series: [
      { name: 'used', tone: 'first' },
      { name: 'limit', tone: 'limit' },
    ],
    missing: null,
    stepMin: 15,
    // A Redis without a limit is the fullest only if none has one.
    sql: `SELECT at, pair.1 AS name, pair.2 AS value FROM (
        SELECT at, arrayJoin([('used', argMax(used, fullness)), ('limit', argMax(most, fullness))]) AS pair FROM (
          SELECT ${stepOf('time')} AS at, extract(metric, '@([0-9]+)') AS shard,
            maxIf(s.value, startsWith(metric, 'redis_used')) AS used, maxIf(s.value, startsWith(metric, 'redis_limit')) AS most,
            (if(most > 0, used / most, 0), used) AS fullness
          FROM ops_samples AS s WHERE match(metric, '^redis_(used|limit)_bytes') AND ${inRange('time')}
          GROUP BY at, shard)
        GROUP BY at)
      WHERE value > 0`,
  },
];
