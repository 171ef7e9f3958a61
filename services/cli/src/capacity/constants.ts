/** Resources that one event of a kind needs. CPU is in microseconds of one core. */
export interface EventCost {
  /** Redis bytes used until the event is stored in ClickHouse. */
  readonly queuedBytes: number;
  /** Redis bytes that remain afterwards, times the seconds until they expire. At one event per second, that is the memory in use. */
  readonly retainedByteSeconds: number;
  readonly ingestMicros: number;
  /** Queueing the event and passing it to the writer. Redis does all of it on one thread. */
  readonly redisMicros: number;
  readonly writerMicros: number;
  /** Bytes on disk after merges, including materialized views. */
  readonly diskBytes: number;
}

/**
 * Measured by `npm run bench -- capacity` (test/bench/README.md): events over HTTP, and a million generated ones on disk. CPU is scaled
 * to that of a click on an idle machine (`npm run bench -- redirect`), because the load generator shared the cores.
 */
export const EVENT_COSTS = {
  click: {
    queuedBytes: 940,
    retainedByteSeconds: 540_000,
    ingestMicros: 44,
    redisMicros: 13,
    writerMicros: 12,
    diskBytes: 264,
  },
  lead: {
    queuedBytes: 1_740,
    retainedByteSeconds: 29_000_000,
    ingestMicros: 210,
    redisMicros: 42,
    writerMicros: 27,
    diskBytes: 369,
  },
  sale: {
    queuedBytes: 1_320,
    retainedByteSeconds: 49_000_000,
    ingestMicros: 820,
    redisMicros: 170,
    writerMicros: 37,
    diskBytes: 443,
  },
} as const satisfies Readonly<Record<string, EventCost>>;

/** CPU of ClickHouse per insert and per row, including materialized views and merges; measured on a busy machine. */
export const INSERT_MICROS = 45_000;
export const ROW_MICROS = 15;

/** CPU of a request for a page of events or a count over a million events; measured on a busy machine. */
export const QUERY_SERVICE_MICROS = 7_000;
export const QUERY_STORE_MICROS = 18_000;
