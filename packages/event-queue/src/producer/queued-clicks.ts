import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import type { Transaction } from '../queue/job-adder.js';
import { QUEUE_PREFIX, rowsKey } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';

/**
 * Where the rows of queued clicks are, so that a lead finds its click in whichever process it arrives, before the writer has stored it.
 * The rows themselves are not stored twice: an entry says which bytes of which job's rows, and ends with the job.
 */

/** Where a click's row is in the rows of its job, in bytes. */
export interface QueuedClick {
  readonly clickId: string;
  readonly start: number;
  readonly length: number;
}

/** After this time a click is found in ClickHouse, or a lead waits for the writer. */
const ENTRY_MS = 5 * 60_000;
const ANSWER_MS = 1_000;
const CLICK_ID = /^\w{1,64}$/;

const entryKey = (clickId: string) => `${QUEUE_PREFIX}:queued-click:${clickId}`;

/** The places of the clicks that can be found, in a job whose rows are joined by line breaks. */
export function placesOf(
  clicks: readonly { readonly clickId: string; readonly rowText: string; readonly isFindable: boolean }[],
): QueuedClick[] {
  if (!clicks.some(({ isFindable }) => isFindable)) return [];
  const places: QueuedClick[] = [];
  let start = 0;
  for (const { clickId, rowText, isFindable } of clicks) {
    const length = Buffer.byteLength(rowText);
    if (isFindable) places.push({ clickId, start, length });
    start += length + 1;
  }
  return places;
}

/** Adds the entries to the transaction that adds their job. */
export function addPlaces(transaction: Transaction, jobId: string, places: readonly QueuedClick[]): void {
  for (const { clickId, start, length } of places) {
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
