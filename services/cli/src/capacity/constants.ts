/** What one event of a kind takes on its way. CPU is microseconds of one core. */
export interface EventCost {
  /** Redis bytes that are free again once it is written. */
  readonly queuedBytes: number;
  /** Redis bytes it leaves behind, times the seconds until each expires: at one event a second, the bytes in use. */
  readonly keptByteSeconds: number;
  readonly ingestMicros: number;
  /** Taking the event and handing it to the writer. Redis does all of it on one thread. */
  readonly redisMicros: number;
  readonly writerMicros: number;
  /** Bytes on disk once merged, its part of the views included. */
  readonly diskBytes: number;
}

/**
 * Measured by `npm run bench -- capacity` (test/bench/README.md), events over HTTP and a million generated ones on disk. CPU is
 * scaled to that of a click on a quiet machine (`npm run bench -- redirect`), as the run itself shared its cores.
 */
export const EVENT_COSTS = {
  click: {
    queuedBytes: 940,
    keptByteSeconds: 500_000,
    ingestMicros: 44,
    redisMicros: 13,
    writerMicros: 12,
    diskBytes: 264,
  },
  lead: {
    queuedBytes: 1_740,
    keptByteSeconds: 190_000_000,
    ingestMicros: 210,
    redisMicros: 42,
    writerMicros: 27,
    diskBytes: 369,
  },
  sale: {
    queuedBytes: 1_320,
    keptByteSeconds: 49_000_000,
    ingestMicros: 820,
    redisMicros: 170,
    writerMicros: 37,
    diskBytes: 443,
  },
} as const satisfies Readonly<Record<string, EventCost>>;

/** CPU of ClickHouse for an insert whatever its rows, and for each row, views and merges included; on a busy machine. */
export const INSERT_MICROS = 45_000;
export const ROW_MICROS = 15;

/** CPU of a request, a page of events or a count among a million; on a busy machine. */
export const QUERY_SERVICE_MICROS = 7_000;
export const QUERY_STORE_MICROS = 18_000;
