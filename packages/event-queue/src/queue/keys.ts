import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import { QueueKeys } from 'bullmq';

/**
 * Prefix of every key of the queue in Redis. It is a hash tag, because a batch is one transaction over jobs, claims and state,
 * and in Redis Cluster all keys of a transaction must be in one slot.
 */
export const QUEUE_PREFIX = '{waymark}';

/** BullMQ queue of the rows that could not be written. No worker takes its jobs. */
export const DEAD_LETTER_QUEUE = 'dead-letter';

/** BullMQ queue of webhook deliveries. */
export const WEBHOOK_QUEUE = 'webhook';

export const QUEUE_KINDS = Object.keys(QUEUE_TABLES) as readonly QueueKind[];

export type QueueName = QueueKind | typeof DEAD_LETTER_QUEUE | typeof WEBHOOK_QUEUE;

const bullKeys = new QueueKeys(QUEUE_PREFIX);
const keysByQueue = new Map<string, ReturnType<QueueKeys['getKeys']>>();

/** The keys that BullMQ uses for a queue: lists, sets and the prefix of its job hashes. */
export function queueKeys(queue: QueueName): ReturnType<QueueKeys['getKeys']> {
  let keys = keysByQueue.get(queue);
  if (keys === undefined) {
    keys = bullKeys.getKeys(queue);
    keysByQueue.set(queue, keys);
  }
  return keys;
}

/** The key of a list, set, hash or stream that BullMQ has for a queue. */
export function queueKey(
  queue: QueueName,
  type: 'wait' | 'active' | 'delayed' | 'completed' | 'meta' | 'events' | 'stalled-check',
): string {
  return bullKeys.toKey(queue, type);
}

/** The key of a job's hash. */
export function jobKey(queue: QueueName, jobId: string): string {
  return bullKeys.toKey(queue, jobId);
}

/**
 * The key of a job's rows (see job-rows.ts). BullMQ uses this name for a job's log, and deletes the log with the job. So the rows are
 * deleted however the job ends, and also when it was added a second time.
 */
export function rowsKey(queue: QueueName, jobId: string): string {
  return `${jobKey(queue, jobId)}:logs`;
}

/** The key of a claim (see claim-names.ts). */
export function claimKey(name: string): string {
  return `${QUEUE_PREFIX}:claim:${name}`;
}

/** The key of a value that is set in the transaction that queues an event, and that other packages read. */
export function stateKey(name: string): string {
  return `${QUEUE_PREFIX}:state:${name}`;
}

/** The key of the manifest with the id of the insert batch that a job belongs to. In Redis keys an insert batch is called a group. */
export function batchOfJobKey(jobId: string): string {
  return `${QUEUE_PREFIX}:group-of:${jobId}`;
}

/** The key of the manifest with an insert batch: its jobs in order, and its state. */
export function insertBatchKey(batchId: string): string {
  return `${QUEUE_PREFIX}:group:${batchId}`;
}

/** The key with the number of inserts that all writers have started, which shows whether ClickHouse still has the token of an insert. */
export const INSERT_COUNT_KEY = `${QUEUE_PREFIX}:inserts`;

/** The key of a value that only occupies memory. Writers delete it when Redis is full, so that jobs can be completed. */
export const RESERVE_KEY = `${QUEUE_PREFIX}:reserve`;

/** The key with the age of each spool, by the id of its directory (see spool/spool-ages.ts). */
export const SPOOL_AGES_KEY = `${QUEUE_PREFIX}:spools`;

/** The key of the list of tails: the workspaces that have one, each with the time at which it ends, and a version of the list. */
export const TAILS_KEY = `${QUEUE_PREFIX}:tails`;

/** The tail of a workspace: the ids of its last stored events, in the order in which they were acknowledged (see src/tail). */
export function tailKey(workspaceNumber: string): string {
  return `${QUEUE_PREFIX}:tail:${workspaceNumber}`;
}

/** The open streams of a workspace, each with the end of its lease. */
export function openStreamsKey(workspaceNumber: string): string {
  return `${QUEUE_PREFIX}:streams:${workspaceNumber}`;
}

/** The key with the progress of an import of past events into a workspace (see src/history). */
export function historyKey(workspaceNumber: string): string {
  return `${QUEUE_PREFIX}:history:${workspaceNumber}`;
}
