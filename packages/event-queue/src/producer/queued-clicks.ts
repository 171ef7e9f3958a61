import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import type { Transaction } from '../queue/job-adder.js';
import { QUEUE_PREFIX, rowsKey } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';

/**
 * An index of queued clicks in Redis, with which every process finds the click of a lead before the writer has stored it. An entry does not
 * repeat the row of the click: it contains the id of the job, and the position of the row in the job's rows.
 */

/** Where a click's row is in the rows of its job, in bytes. */
export interface QueuedClick {
  readonly clickId: string;
  readonly start: number;
  readonly length: number;
}

/** TTL of an entry. After it the click is looked up in ClickHouse; if the writer has not stored it by then, the lead is answered with an error. */
const ENTRY_MS = 5 * 60_000;
const ANSWER_MS = 1_000;
const CLICK_ID = /^\w{1,64}$/;

const entryKey = (clickId: string) => `${QUEUE_PREFIX}:queued-click:${clickId}`;

/** The positions of the findable clicks in the rows of their job, which are joined by line breaks. */
export function positionsOf(
  clicks: readonly { readonly clickId: string; readonly rowText: string; readonly isFindable: boolean }[],
): QueuedClick[] {
  if (!clicks.some(({ isFindable }) => isFindable)) return [];
  const positions: QueuedClick[] = [];
  let start = 0;
  for (const { clickId, rowText, isFindable } of clicks) {
    const length = Buffer.byteLength(rowText);
    if (isFindable) positions.push({ clickId, start, length });
    start += length + 1;
  }
  return positions;
}

/** Adds the entries to the transaction that adds their job. */
export function addPositions(transaction: Transaction, jobId: string, positions: readonly QueuedClick[]): void {
  for (const { clickId, start, length } of positions) {
    transaction.set(entryKey(clickId), `${jobId} ${start} ${length}`, 'PX', ENTRY_MS);
  }
}

/**
 * The row of a queued click, as JSON; undefined if it is not queued, or no longer.
 *
 * @throws the error of Redis or the connection; NotReplicatedError
 */
export async function findQueuedClick(
  redis: Redis,
  replication: Replication,
  clickId: string,
): Promise<string | undefined> {
  if (!CLICK_ID.test(clickId)) return undefined;
  const read = async () => {
    const [jobId, start, length] = ((await redis.get(entryKey(clickId))) ?? '').split(' ');
    if (jobId === undefined || start === undefined || length === undefined) return undefined;
    const text = await redis.getrange(rowsKey('click', jobId), Number(start), Number(start) + Number(length) - 1);
    return text === '' ? undefined : text;
  };
  const isFound = (text: string | undefined) => text !== undefined;
  return withinMs(replication.confirmed(read, isFound), ANSWER_MS, 'reading a queued click');
}
