/** Resources that one event needs. CPU time is in microseconds of one core. */
export interface EventCost {
  /** Redis bytes used until the event is stored in ClickHouse. */
  readonly queuedBytes: number;
  /** Redis bytes that remain afterwards, times the seconds until they expire: the bytes in use at one event per second. */
  readonly retainedByteSeconds: number;
  readonly ingestMicros: number;
  /** Queueing the event and passing it to the writer. Redis does all of it on one thread. */
  readonly redisMicros: number;
  readonly writerMicros: number;
  /** Bytes on disk after merges, including materialized views. */
  readonly diskBytes: number;
  /** Parts that an insert makes: one in its own table, and one in each that a materialized view fills. */
  readonly parts: number;
}

/**
 * CPU time of ingest for a click on an idle machine (`npm run bench -- redirect`). The measured CPU times of ingest and writer are scaled
 * to it.
 */
export const QUIET_CLICK_MICROS = 44;

/**
 * Measured by `npm run bench -- capacity` (test/bench/README.md): events over HTTP, and generated ones on disk. CPU of ingest and writer is
 * scaled to {@link QUIET_CLICK_MICROS}, because the load generator shared the cores; CPU of Redis is as measured. The test of this
 * folder compares the constants with the recorded run.
 */
export const EVENT_COSTS = {
  click: {
    queuedBytes: 915,
    retainedByteSeconds: 540_000,
    ingestMicros: 44,
    redisMicros: 14,
    writerMicros: 16,
    diskBytes: 284,
    parts: 4,
  },
  lead: {
    queuedBytes: 2_320,
    retainedByteSeconds: 29_000_000,
    ingestMicros: 139,
    redisMicros: 60,
    writerMicros: 29,
    diskBytes: 384,
    parts: 5,
  },
  sale: {
    queuedBytes: 1_240,
    retainedByteSeconds: 48_000_000,
    ingestMicros: 134,
    redisMicros: 74,
    writerMicros: 24,
    diskBytes: 469,
    parts: 5,
  },
} as const satisfies Readonly<Record<string, EventCost>>;

/** Bytes of a click in the spool. */
export const SPOOL_CLICK_BYTES = 926;
/** Bytes of its append-only file that Redis reads per second when it starts. */
export const REDIS_LOAD_BYTES_PER_SECOND = 107_000_000;

/** Entries that a part of a replicated table makes in Keeper, as ClickHouse documents it ("approximately ten"). Not measured. */
export const KEEPER_ENTRIES_PER_PART = 10;

/** CPU of ClickHouse per insert and per row, including materialized views and merges; the highest of three runs on busy machines. */
export const INSERT_MICROS = 45_000;
export const ROW_MICROS = 15;

/** CPU of a request for a page of events or a count over a million events; the highest of several runs on busy machines. */
export const QUERY_SERVICE_MICROS = 7_000;
export const QUERY_STORE_MICROS = 18_000;
