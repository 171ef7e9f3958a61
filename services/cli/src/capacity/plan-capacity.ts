import { EVENT_COSTS, INSERT_MICROS, QUERY_SERVICE_MICROS, QUERY_STORE_MICROS, ROW_MICROS } from './constants.js';

/** What is asked for. Rates are averages of a day. */
export interface CapacityRequest {
  readonly eventsPerSecond: number;
  readonly queriesPerSecond: number;
  readonly retentionDays: number;
  /** Shares of leads and sales among events; the rest are clicks. */
  readonly leadShare: number;
  readonly saleShare: number;
  /** The busiest minute beside the average. */
  readonly peakFactor: number;
  /** How long ClickHouse may be away while nothing is refused. */
  readonly outageMinutes: number;
  /** Copies of the data in ClickHouse. */
  readonly replicas: number;
}

/** What it takes at the peak. Cores are those in use; processes have room beside. */
export interface CapacityPlan {
  readonly peakEventsPerSecond: number;
  /** Installations to spread the workspaces over, as each has one Redis for its queue. All below is of all of them together. */
  readonly installations: number;
  readonly redis: {
    /** `maxmemory` of each. */
    readonly memoryBytes: number;
    /** Of the one core that each can use. */
    readonly coreShare: number;
  };
  readonly clickhouse: {
    readonly bytesPerDay: number;
    /** All copies, with room for merges. */
    readonly diskBytes: number;
    readonly insertsPerSecond: number;
    readonly insertCores: number;
    readonly queryCores: number;
    /** Servers of at most 32 cores and 10 TB each, copies included. */
    readonly servers: number;
  };
  readonly processes: {
    readonly ingest: number;
    readonly writer: number;
    readonly query: number;
    readonly management: number;
  };
  /** Whether one machine with the embedded stores is enough. */
  readonly fitsOneMachine: boolean;
  /** What reaches its limit first when the rates grow. */
  readonly breaksFirst: 'clickhouse cores' | 'clickhouse disk' | 'redis core' | 'redis memory';
}

const DAY_SECONDS = 24 * 3600;
const MICROS = 1_000_000;
/** A process or Redis is used up to this share of its core, so that bursts and restarts have room. */
const CORE_USE_MAX = 0.6;
/** `/track` is shed above this share of Redis' memory (docs/production.md). */
const REDIS_USE_MAX = 0.7;
/** Caches, connections and scripts. */
const REDIS_BASE_BYTES = 64 * 1024 ** 2;
/** Merges write the new part before they drop the old ones. */
const DISK_USE_MAX = 0.7;
/** Groups a writer inserts a second, of each kind, while none of them is full. */
const GROUPS_PER_SECOND = 10;
const GROUP_ROWS_MAX = 20_000;
const SERVER_CORES = 32;
const SERVER_DISK_BYTES = 10e12;
const REDIS_MEMORY_MAX = 64 * 1024 ** 3;
const ONE_MACHINE = { redisMemoryBytes: 4 * 1024 ** 3, cores: 4, diskBytes: 2e12 };
/** One goes, one stays. */
const PROCESSES_MIN = 2;

type Kind = keyof typeof EVENT_COSTS;
const KINDS = Object.keys(EVENT_COSTS) as Kind[];

function processesFor(cores: number): number {
  return Math.max(PROCESSES_MIN, Math.ceil(cores / CORE_USE_MAX));
}

function insertsPerSecond(rates: Readonly<Record<Kind, number>>, writers: number): number {
  return KINDS.reduce((sum, kind) => {
    const rate = rates[kind];
    return sum + Math.max(rate / GROUP_ROWS_MAX, Math.min(rate, GROUPS_PER_SECOND * writers));
  }, 0);
}

/** Redis bytes in all: what is kept of events at their average rate, and the queue of an outage at the peak. */
function redisBytes({ outageMinutes, peakFactor }: CapacityRequest, rates: Readonly<Record<Kind, number>>): number {
  return KINDS.reduce((sum, kind) => {
    const { queuedBytes, keptByteSeconds } = EVENT_COSTS[kind];
    return sum + rates[kind] * (keptByteSeconds + peakFactor * outageMinutes * 60 * queuedBytes);
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
  // Every copy takes part in each insert.
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
