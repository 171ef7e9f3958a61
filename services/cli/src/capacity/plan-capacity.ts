import { EVENT_COSTS, INSERT_MICROS, QUERY_SERVICE_MICROS, QUERY_STORE_MICROS, ROW_MICROS } from './constants.js';

/** The expected load. Rates are daily averages. */
export interface CapacityRequest {
  readonly eventsPerSecond: number;
  readonly queriesPerSecond: number;
  readonly retentionDays: number;
  /** Shares of leads and sales among events; the rest are clicks. */
  readonly leadShare: number;
  readonly saleShare: number;
  /** The busiest minute, as a multiple of the average. */
  readonly peakFactor: number;
  /** Longest outage of ClickHouse during which no event is rejected. */
  readonly outageMinutes: number;
  /** Copies of the data in ClickHouse. */
  readonly replicas: number;
}

/** The resources needed at the peak. Cores are those in use; process counts include headroom. */
export interface CapacityPlan {
  readonly peakEventsPerSecond: number;
  /** Number of installations to spread workspaces over, as each has one Redis for its queue. The other numbers are totals over all. */
  readonly installations: number;
  readonly redis: {
    /** `maxmemory` of each Redis. */
    readonly memoryBytes: number;
    /** Use of the one core that each Redis can use. */
    readonly coreShare: number;
  };
  readonly clickhouse: {
    readonly bytesPerDay: number;
    /** All replicas, with room for merges. */
    readonly diskBytes: number;
    readonly insertsPerSecond: number;
    readonly insertCores: number;
    readonly queryCores: number;
    /** Servers of at most 32 cores and 10 TB each, including replicas. */
    readonly servers: number;
  };
  readonly processes: {
    readonly ingest: number;
    readonly writer: number;
    readonly query: number;
    readonly management: number;
  };
  /** Whether a single machine with the embedded stores is enough. */
  readonly fitsOneMachine: boolean;
  /** The resource that reaches its limit first when the load grows. */
  readonly breaksFirst: 'clickhouse cores' | 'clickhouse disk' | 'redis core' | 'redis memory';
}

const DAY_SECONDS = 24 * 3600;
const MICROS = 1_000_000;
/** Target CPU use of a process or Redis, which leaves headroom for bursts and restarts. */
const CORE_USE_MAX = 0.6;
/** Above this share of Redis' memory, `/track` rejects conversions (docs/production.md). */
const REDIS_USE_MAX = 0.7;
/** Memory of Redis for caches, connections and scripts. */
const REDIS_BASE_BYTES = 64 * 1024 ** 2;
/** Leaves room for merges, which write the new part before they delete the old ones. */
const DISK_USE_MAX = 0.7;
/** Inserts per second of one writer for each kind of event, while they are not full: a writer gathers rows for 100 ms. */
const INSERTS_PER_WRITER = 10;
const INSERT_ROWS_MAX = 20_000;
const SERVER_CORES = 32;
const SERVER_DISK_BYTES = 10e12;
const REDIS_MEMORY_MAX = 64 * 1024 ** 3;
const ONE_MACHINE = { redisMemoryBytes: 4 * 1024 ** 3, cores: 4, diskBytes: 2e12 };
/** Two, so that one can fail. */
const PROCESSES_MIN = 2;

type Kind = keyof typeof EVENT_COSTS;
const KINDS = Object.keys(EVENT_COSTS) as Kind[];

function processesFor(cores: number): number {
  return Math.max(PROCESSES_MIN, Math.ceil(cores / CORE_USE_MAX));
}

function insertsPerSecond(rates: Readonly<Record<Kind, number>>, writers: number): number {
  return KINDS.reduce((sum, kind) => {
    const rate = rates[kind];
    return sum + Math.max(rate / INSERT_ROWS_MAX, Math.min(rate, INSERTS_PER_WRITER * writers));
  }, 0);
}

/** Redis bytes in total: retained data at the average rate, and the queue of an outage at the peak rate. */
function redisBytes({ outageMinutes, peakFactor }: CapacityRequest, rates: Readonly<Record<Kind, number>>): number {
  return KINDS.reduce((sum, kind) => {
    const { queuedBytes, retainedByteSeconds } = EVENT_COSTS[kind];
    return sum + rates[kind] * (retainedByteSeconds + peakFactor * outageMinutes * 60 * queuedBytes);
  }, 0);
}

/** The model behind `npx waymark capacity` and docs/capacity.md. */
export function planCapacity(request: CapacityRequest): CapacityPlan {
  const { eventsPerSecond, queriesPerSecond, retentionDays, leadShare, saleShare, peakFactor, replicas } = request;
  const shares = { click: 1 - leadShare - saleShare, lead: leadShare, sale: saleShare };
  const ratesAt = (rate: number) => ({
    click: rate * shares.click,
    lead: rate * shares.lead,
    sale: rate * shares.sale,
  });
  const average = ratesAt(eventsPerSecond);
  const peak = ratesAt(eventsPerSecond * peakFactor);
  const peakQueries = queriesPerSecond * peakFactor;
  const coresOf = (cost: 'ingestMicros' | 'redisMicros' | 'writerMicros') =>
    KINDS.reduce((sum, kind) => sum + (peak[kind] * EVENT_COSTS[kind][cost]) / MICROS, 0);

  const redisCores = coresOf('redisMicros');
  const redisMemory = redisBytes(request, average) / REDIS_USE_MAX;
  const installations = Math.max(1, Math.ceil(redisCores / CORE_USE_MAX), Math.ceil(redisMemory / REDIS_MEMORY_MAX));
  const memoryBytes = redisMemory / installations + REDIS_BASE_BYTES;

  const writer = Math.max(processesFor(coresOf('writerMicros')), PROCESSES_MIN * installations);
  const bytesPerDay = KINDS.reduce((sum, kind) => sum + average[kind] * EVENT_COSTS[kind].diskBytes * DAY_SECONDS, 0);
  const diskBytes = (bytesPerDay * retentionDays * replicas) / DISK_USE_MAX;
  const inserts = insertsPerSecond(peak, writer);
  const rows = peak.click + peak.lead + peak.sale;
  // Every replica executes each insert.
  const insertCores = ((inserts * INSERT_MICROS + rows * ROW_MICROS) / MICROS) * replicas;
  const queryCores = (peakQueries * QUERY_STORE_MICROS) / MICROS;
  const cores = (insertCores + queryCores) / CORE_USE_MAX;
  const servers = replicas * Math.ceil(Math.max(cores / SERVER_CORES, diskBytes / SERVER_DISK_BYTES) / replicas);

  const use = [
    ['clickhouse cores', cores / SERVER_CORES],
    ['clickhouse disk', diskBytes / SERVER_DISK_BYTES],
    ['redis core', redisCores / CORE_USE_MAX],
    ['redis memory', redisMemory / REDIS_MEMORY_MAX],
  ] as const;
  const [[breaksFirst]] = [...use].sort(([, left], [, right]) => right - left) as [(typeof use)[number]];

  return {
    peakEventsPerSecond: eventsPerSecond * peakFactor,
    installations,
    redis: { memoryBytes, coreShare: redisCores / installations },
    clickhouse: { bytesPerDay, diskBytes, insertsPerSecond: inserts, insertCores, queryCores, servers },
    processes: {
      ingest: Math.max(processesFor(coresOf('ingestMicros')), PROCESSES_MIN * installations),
      writer,
      query: Math.max(processesFor((peakQueries * QUERY_SERVICE_MICROS) / MICROS), PROCESSES_MIN * installations),
      management: PROCESSES_MIN * installations,
    },
    fitsOneMachine:
      memoryBytes <= ONE_MACHINE.redisMemoryBytes &&
      cores / replicas + redisCores + coresOf('ingestMicros') + coresOf('writerMicros') <= ONE_MACHINE.cores &&
      diskBytes / replicas <= ONE_MACHINE.diskBytes,
    breaksFirst,
  };
}
