/**
 * Settings for tables whose reads must see every acknowledged write, whichever replica answers. Inserts wait for a majority of the
 * replicas, one after the other, and reads for what the majority has. Every insert into such a table must wait: a sequential read leaves
 * out what was inserted without a quorum until the next insert with one.
 */
export const QUORUM_INSERT = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  distributed_foreground_insert: 1,
} as const;
export const SEQUENTIAL_READ = { select_sequential_consistency: 1 } as const;
/**
 * Settings for events whose inserts wait for a majority of the replicas, so that they survive the loss of the server that took them.
 * Reads do not wait, so inserts need not come one after the other.
 */
export const EVENT_QUORUM_INSERT = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 1,
  distributed_foreground_insert: 1,
} as const;
