/**
 * Settings for inserts into tables whose reads must see every acknowledged write, whichever replica answers. Such inserts wait for a
 * majority of the replicas, one insert after the other. Every insert into such a table needs these settings: reads with
 * {@link SEQUENTIAL_READ} omit rows that were inserted without a quorum, until the next insert with one.
 */
export const QUORUM_INSERT = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  distributed_foreground_insert: 1,
} as const;
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
} as const;
