import {
  EVENT_COSTS,
  INSERT_MICROS,
  KEEPER_ENTRIES_PER_PART,
  QUERY_SERVICE_MICROS,
  QUERY_STORE_MICROS,
  REDIS_LOAD_BYTES_PER_SECOND,
  ROW_MICROS,
  SPOOL_CLICK_BYTES,
} from './constants.js';

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
  /** Longest time without Redis during which no click is lost; at least as long as Redis takes to start again. */
  readonly redisOutageMinutes: number;
  /** Copies of the data in ClickHouse. */
  readonly replicas: number;
}

/** The resources needed at the peak. Cores are those in use; process counts include headroom. */
export interface CapacityPlan {
  readonly peakEventsPerSecond: number;
  /** Number of installations to spread the workspaces over, each with one Redis. The other numbers are totals over all installations. */
  readonly installations: number;
  readonly redis: {
    /** `maxmemory` of each Redis. */
    readonly memoryBytes: number;
    /** Load of the one core that each Redis can use, from 0 to 1. */
    readonly coreShare: number;
    /** Time to read the append-only file at the start, when the memory was full. */
    readonly restartSeconds: number;
  };
  /** The spool of each ingest process, which keeps the clicks while Redis is down. */
  readonly spool: {
    /** Time that Redis may be down without a lost click. */
    readonly seconds: number;
    /** `SPOOL_MAX_MB` for that. */
    readonly megabytes: number;
    /** How long the default of `SPOOL_MAX_MB` lasts at the peak. */
    readonly defaultSeconds: number;
  };
  readonly clickhouse: {
    readonly bytesPerDay: number;
    /** All replicas, with room for merges. */
    readonly diskBytes: number;
    /** On all shards together: each batch of a writer is one insert for every shard that it has rows of. */
    readonly insertsPerSecond: number;
    /** Entries that replicas write to Keeper; 0 with one copy. */
    readonly keeperEntriesPerSecond: number;
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
/** Memory that Redis needs besides events: for caches, connections and scripts. */
const REDIS_BASE_BYTES = 64 * 1024 ** 2;
/** Leaves room for merges, which write the new part before they delete the old ones. */
const DISK_USE_MAX = 0.7;
/** Inserts per second of one writer for each kind of event, while they are not full: a writer gathers rows for 100 ms. */
const INSERTS_PER_WRITER = 10;
const INSERT_ROWS_MAX = 20_000;
/** With n shards a writer gathers rows n times as long, so that a shard gets no more inserts, but at most this many times as long. */
const SHARDS_GATHERED_MAX = 10;
/** Without a rewrite, the append-only file grows to twice its size after the last one (`auto-aof-rewrite-percentage 100`). */
const LOG_PER_MEMORY = 2;
const MEGABYTE = 1024 ** 2;
/** The default of `SPOOL_MAX_MB`. */
const SPOOL_DEFAULT_BYTES = 1024 * MEGABYTE;
const SERVER_CORES = 32;
const SERVER_DISK_BYTES = 10e12;
const REDIS_MEMORY_MAX = 64 * 1024 ** 3;
const ONE_MACHINE = { redisMemoryBytes: 4 * 1024 ** 3, cores: 4, diskBytes: 2e12 };
/** Two processes of each service, so that one can fail. */
const PROCESSES_MIN = 2;

type Kind = keyof typeof EVENT_COSTS;
const KINDS = Object.keys(EVENT_COSTS) as Kind[];

/** Number of processes for a load. @param cores CPU that they use together */
function processesFor(cores: number): number {
  return Math.max(PROCESSES_MIN, Math.ceil(cores / CORE_USE_MAX));
}

/**
 * Inserts per second into all shards together.
 *
 * @param rates events per second
 * @param writers number of writers that insert into these shards
 */
function insertsOf(rates: Readonly<Record<Kind, number>>, writers: number, shards: number): Record<Kind, number> {
  const perSecond = (INSERTS_PER_WRITER * writers * shards) / Math.min(shards, SHARDS_GATHERED_MAX);
  const inserts = (rate: number) => Math.max(rate / INSERT_ROWS_MAX, Math.min(rate, perSecond));
  return { click: inserts(rates.click), lead: inserts(rates.lead), sale: inserts(rates.sale) };
}

const sumOf = (perKind: Readonly<Record<Kind, number>>) => KINDS.reduce((sum, kind) => sum + perKind[kind], 0);

/** Bytes in all Redis together: retained data at the average rate, and the queue of an outage at the peak rate. */
function redisBytes({ outageMinutes, peakFactor }: CapacityRequest, rates: Readonly<Record<Kind, number>>): number {
  return KINDS.reduce((sum, kind) => {
    const { queuedBytes, retainedByteSeconds } = EVENT_COSTS[kind];
    return sum + rates[kind] * (retainedByteSeconds + peakFactor * outageMinutes * 60 * queuedBytes);
  }, 0);
}

/**
 * Plans inserts, their cores, and the servers. More servers mean more shards, and more shards mean more inserts, so the number of servers
 * is raised until it suffices.
 */
function planInserts(
  { replicas }: CapacityRequest,
  load: {
    readonly peak: Readonly<Record<Kind, number>>;
    readonly writer: number;
    readonly installations: number;
    readonly diskBytes: number;
    readonly queryCores: number;
  },
) {
  const { peak, installations, diskBytes } = load;
  const share = { click: peak.click / installations, lead: peak.lead / installations, sale: peak.sale / installations };
  for (let servers = replicas; ; ) {
    const shards = Math.max(1, Math.ceil(servers / replicas / installations));
    const perInstallation = insertsOf(share, load.writer / installations, shards);
    const inserts = sumOf(perInstallation) * installations;
    // Every replica executes each insert.
    const insertCores = ((inserts * INSERT_MICROS + sumOf(peak) * ROW_MICROS) / MICROS) * replicas;
    const cores = (insertCores + load.queryCores) / CORE_USE_MAX;
    const needed = replicas * Math.ceil(Math.max(cores / SERVER_CORES, diskBytes / SERVER_DISK_BYTES) / replicas);
    if (needed <= servers) {
      const entries = KINDS.reduce((sum, kind) => sum + perInstallation[kind] * EVENT_COSTS[kind].parts, 0);
      const keeper = replicas === 1 ? 0 : entries * installations * KEEPER_ENTRIES_PER_PART;
      return { inserts, keeper, insertCores, cores, servers: needed };
    }
    servers = needed;
  }
}

/** Plans the spool that keeps all clicks while Redis is down, and while it starts with full memory. */
function planSpool(request: CapacityRequest, clicksPerSecond: number, ingest: number, restartSeconds: number) {
  const seconds = Math.max(request.redisOutageMinutes * 60, restartSeconds);
  const bytesPerSecond = (clicksPerSecond / ingest) * SPOOL_CLICK_BYTES;
  return {
    seconds,
    megabytes: Math.ceil((bytesPerSecond * seconds) / MEGABYTE),
    defaultSeconds: bytesPerSecond === 0 ? Number.POSITIVE_INFINITY : SPOOL_DEFAULT_BYTES / bytesPerSecond,
  };
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

  const restartSeconds = (LOG_PER_MEMORY * (redisMemory / installations) * REDIS_USE_MAX) / REDIS_LOAD_BYTES_PER_SECOND;

  const ingest = Math.max(processesFor(coresOf('ingestMicros')), PROCESSES_MIN * installations);
  const writer = Math.max(processesFor(coresOf('writerMicros')), PROCESSES_MIN * installations);
  const bytesPerDay = KINDS.reduce((sum, kind) => sum + average[kind] * EVENT_COSTS[kind].diskBytes * DAY_SECONDS, 0);
  const diskBytes = (bytesPerDay * retentionDays * replicas) / DISK_USE_MAX;
  const queryCores = (peakQueries * QUERY_STORE_MICROS) / MICROS;
  const { inserts, keeper, insertCores, cores, servers } = planInserts(request, {
    peak,
    writer,
    installations,
    diskBytes,
    queryCores,
  });

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
    redis: { memoryBytes, coreShare: redisCores / installations, restartSeconds },
    spool: planSpool(request, peak.click, ingest, restartSeconds),
    clickhouse: {
      bytesPerDay,
      diskBytes,
      insertCores,
      queryCores,
      servers,
      insertsPerSecond: inserts,
      keeperEntriesPerSecond: keeper,
    },
    processes: {
      ingest,
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
