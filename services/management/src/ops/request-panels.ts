import { type OpsPanel, stepOf, within } from './panels.js';

/** Upper ends of the places of `ops_requests.duration_ms`; the last has none. */
const BUCKET_ENDS = '[1., 2., 5., 10., 25., 50., 100., 250., 500., 1000., 2500., 5000., 10000., 10000.]';
const quantileOf = (share: number) =>
  `arrayElement(${BUCKET_ENDS}, arrayFirstIndex(c -> c >= ${share} * sum(requests), arrayCumSum(sumForEach(duration_ms))))`;

/** What the services answered, and the memory that they answer from. */
export const REQUEST_PANELS: readonly OpsPanel[] = [
  {
    kind: 'plot',
    id: 'requests',
    title: 'Requests',
    about: 'Answers per minute by class of status.',
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
      FROM ops_requests WHERE ${within('minute')} GROUP BY at, name`,
  },
  {
    kind: 'plot',
    id: 'durations',
    title: 'Answer time',
    about: 'How long requests took over all routes: half of them, and nineteen of twenty.',
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
        FROM ops_requests WHERE ${within('minute')} GROUP BY at)`,
  },
  {
    kind: 'plot',
    id: 'limited',
    title: 'Limited requests',
    about: 'Requests per minute that were over a rate limit, by plan.',
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
      FROM ops_limited_requests WHERE ${within('minute')} GROUP BY at, name`,
  },
  {
    kind: 'plot',
    id: 'redis-memory',
    title: 'Redis memory',
    about: 'Memory in use against its limit; at 70 % of it /track is shed, at 85 % clicks are spooled.',
    empty: 'The memory of Redis has not been measured in this range.',
    unit: 'bytes',
    series: [
      { name: 'used', tone: 'first' },
      { name: 'limit', tone: 'limit' },
    ],
    missing: null,
    stepMin: 15,
    sql: `SELECT ${stepOf('time')} AS at, if(metric = 'redis_used_bytes', 'used', 'limit') AS name, max(s.value) AS value
      FROM ops_samples AS s WHERE metric IN ('redis_used_bytes', 'redis_limit_bytes') AND s.value > 0
        AND ${within('time')}
      GROUP BY at, name`,
  },
];
