/**
 * Settings for inserts of many rows by commands, which wait as long as the server allows (ten minutes by default) for a majority of the
 * replicas.
 */
export const COPY_QUORUM_INSERT = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  distributed_foreground_insert: 1,
} as const;
/**
 * How long an insert waits for a majority of the replicas. It is shorter than the client waits for the insert: otherwise each repeat of an
 * insert would leave one more that waits, and they would take all places of the server. `max_execution_time` does not end this wait.
 */
const INSERT_QUORUM_TIMEOUT = { insert_quorum_timeout: 20_000 } as const;
/**
 * Settings for inserts into tables whose reads must see every acknowledged write, whichever replica answers. Such inserts wait for a
 * majority of the replicas, one insert after the other. Every insert into such a table needs these settings, or {@link COPY_QUORUM_INSERT}:
 * reads with {@link SEQUENTIAL_READ} omit rows that were inserted without a quorum, until the next insert with one.
 */
export const QUORUM_INSERT = { ...COPY_QUORUM_INSERT, ...INSERT_QUORUM_TIMEOUT } as const;
/** Settings for reads that see every insert with {@link QUORUM_INSERT}. */
export const SEQUENTIAL_READ = { select_sequential_consistency: 1 } as const;
/**
 * Settings for inserts of events. They wait for a majority of the replicas, so that the rows survive the loss of the server that took them.
 * Events are not read with {@link SEQUENTIAL_READ}, so their inserts may wait concurrently.
 */
export const EVENT_QUORUM_INSERT = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 1,
  distributed_foreground_insert: 1,
  ...INSERT_QUORUM_TIMEOUT,
} as const;

/** An insert was refused because another insert into the table still waits for its quorum, and a read because the replica lacks such an insert. */
const QUORUM_BUSY = new Set(['286', '289']);

/** Whether ClickHouse has refused a statement only for the moment, because of an insert with {@link QUORUM_INSERT}. It can be repeated. */
export function isQuorumBusy(err: unknown): boolean {
  const cause = err instanceof Error && err.cause !== undefined ? err.cause : err;
  return cause instanceof Error && 'code' in cause && QUORUM_BUSY.has(String(cause.code));
}
