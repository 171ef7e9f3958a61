import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import { QueueKeys } from 'bullmq';

/**
 * Names of everything the queue keeps in Redis. One hash tag for all of it: a batch is one transaction over jobs, claims and
 * state, and a transaction of Redis Cluster stays within one slot.
 */
export const QUEUE_PREFIX = '{waymark}';

/** BullMQ queue of the rows that could not be written. It has no worker. */
export const DEAD_LETTER_QUEUE = 'dead-letter';

/** BullMQ queue of what is to be delivered to webhooks. */
export const WEBHOOK_QUEUE = 'webhook';

export const QUEUE_KINDS = Object.keys(QUEUE_TABLES) as readonly QueueKind[];

export type QueueName = QueueKind | typeof DEAD_LETTER_QUEUE | typeof WEBHOOK_QUEUE;

const bullKeys = new QueueKeys(QUEUE_PREFIX);
const keysByQueue = new Map<string, ReturnType<QueueKeys['getKeys']>>();

/** BullMQ's own keys of a queue: lists, sets and the prefix of its job hashes. */
export function queueKeys(queue: QueueName): ReturnType<QueueKeys['getKeys']> {
  let keys = keysByQueue.get(queue);
  if (keys === undefined) {
    keys = bullKeys.getKeys(queue);
    keysByQueue.set(queue, keys);
  }
  return keys;
}

/** One of BullMQ's lists or sets of a queue. */
export function queueKey(queue: QueueName, type: 'wait' | 'active' | 'delayed' | 'meta'): string {
  return bullKeys.toKey(queue, type);
}

/** The hash of one job. */
export function jobKey(queue: QueueName, jobId: string): string {
  return bullKeys.toKey(queue, jobId);
}

/**
 * The rows of one job (see job-rows.ts). BullMQ keeps a job's log under this name and deletes it with the job, so rows need no
 * cleaning up, whoever completes, drains or removes the job, and however late it is added a second time.
 */
export function rowsKey(queue: QueueName, jobId: string): string {
  return `${jobKey(queue, jobId)}:logs`;
}

/** Where a claim of that name is kept (see claim-names.ts). */
export function claimKey(name: string): string {
  return `${QUEUE_PREFIX}:claim:${name}`;
}

/** A key for state that is set in the same transaction as its event and read by other rooms. */
export function stateKey(name: string): string {
  return `${QUEUE_PREFIX}:state:${name}`;
}

/** Manifest: the group a job was put into. */
export function jobGroupKey(jobId: string): string {
  return `${QUEUE_PREFIX}:group-of:${jobId}`;
}

/** Manifest: a group, its members in order and how far it came. */
export function groupKey(groupId: string): string {
  return `${QUEUE_PREFIX}:group:${groupId}`;
}

/** How many inserts were begun so far by all writers: says whether a repeat is still inside ClickHouse's window. */
export const INSERT_COUNT_KEY = `${QUEUE_PREFIX}:inserts`;

/** Memory the writer gives back when Redis is full, so that jobs can be completed at the limit. */
export const RESERVE_KEY = `${QUEUE_PREFIX}:reserve`;
