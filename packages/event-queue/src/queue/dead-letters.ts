import { chunksOf, formatResourceId } from '@waymark/contract';
import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import { createReplication, type Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { blockFilters } from '../claims/filter-marks.js';
import { DiscardedTransactionError } from '../redis/execute-transaction.js';
import { createJobAdder } from './job-adder.js';
import { rowJobId } from './job-id.js';
import { batchOfJobKey, DEAD_LETTER_QUEUE, jobKey, queueKey, rowsKey } from './keys.js';

/** A row that ClickHouse or the checks of the writer refused. It is *parked*: stored in the dead-letter queue until it is replayed or discarded. */
export interface DeadLetter {
  readonly kind: QueueKind;
  readonly version: number;
  /** The unchanged row, JSON. */
  readonly row: string;
  readonly error: string;
  /** When it was parked, epoch milliseconds. */
  readonly at: number;
  /** The job that the row came from. With `index` it determines the dead letter's id. */
  readonly jobId: string;
  /** The row's index in that job. */
  readonly index: number;
}

/** A dead letter as it is stored in the dead-letter queue. */
export interface ParkedLetter extends DeadLetter {
  /** The id of its job there, which the job that replays it has too (`rowJobId`). */
  readonly id: string;
}

const letterSchema = z.object({
  kind: z.enum(Object.keys(QUEUE_TABLES) as [QueueKind, ...QueueKind[]]),
  version: z.int(),
  row: z.string(),
  error: z.string(),
  at: z.number(),
  jobId: z.string(),
  index: z.int(),
});

export interface DeadLetters {
  /** Parks rows. Idempotent. */
  park(letters: readonly DeadLetter[]): Promise<void>;
}

/**
 * The dead-letter queue, on a writer's connection. It has no worker; its jobs stay until the replay command is run.
 *
 * @param replication confirms that replicas have the letters. Only then are the jobs completed that the rows came from: otherwise a
 * failover could lose a letter, but keep the completion of its job
 */
export function createDeadLetters(redis: Redis, replication: Replication): DeadLetters {
  const adder = createJobAdder(redis, replication);
  return {
    async park(letters) {
      if (letters.length === 0) return;
      const multi = await adder.transaction();
      await Promise.all(
        letters.map((letter) =>
          adder.addTo(multi, DEAD_LETTER_QUEUE, rowJobId(letter.jobId, letter.index), JSON.stringify(letter)),
        ),
      );
      await adder.run(multi);
    },
  };
}

const LISTED_MAX = 1000;

function parseLetter(id: string, data: string | null): ParkedLetter | undefined {
  try {
    return { id, ...letterSchema.parse(JSON.parse(data ?? '')) };
  } catch {
    return undefined;
  }
}

/** Reads letters by id. Letters that do not exist any more, or whose data are invalid, are left out. */
export async function readLetters(redis: Redis, ids: readonly string[]): Promise<ParkedLetter[]> {
  const fields = await Promise.all(ids.map((id) => redis.hget(jobKey(DEAD_LETTER_QUEUE, id), 'data')));
  return ids.map((id, index) => parseLetter(id, fields[index] ?? null)).filter((letter) => letter !== undefined);
}

/** The oldest `limit` dead letters (1,000 by default), oldest first, and the number of all of them. */
export async function listDeadLetters(
  redis: Redis,
  { limit = LISTED_MAX }: { readonly limit?: number } = {},
): Promise<{ readonly total: number; readonly letters: readonly ParkedLetter[] }> {
  const wait = queueKey(DEAD_LETTER_QUEUE, 'wait');
  const [total, ids] = await Promise.all([redis.llen(wait), redis.lrange(wait, -limit, -1)]);
  return { total, letters: await readLetters(redis, ids.reverse()) };
}

/**
 * Removes a dead letter, and the manifest entry of an earlier replay. Fails unless the job that replays the letter was the last job added
 * to its queue. KEYS: the list of waiting jobs of that queue, the list of letters, the letter, the job's entry in the manifest. ARGV: the
 * id of the letter, which is also the job's.
 */
const RELEASE_LETTER = `
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return redis.error_reply('JOBMISSING the replay was not added') end
redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('DEL', KEYS[3], KEYS[4])
return 0
`;

/** The id of a row's workspace, whatever its kind; undefined for a malformed row, which the writer refuses again. */
function workspaceOf(row: string): string | undefined {
  try {
    const [number] = JSON.parse(row) as [unknown];
    return formatResourceId('workspace', String(number));
  } catch {
    return undefined;
  }
}

/**
 * Moves dead letters back into the queue of their kind, each as a job of its own under the dead letter's id, in one transaction
 * with the removal of the letter. The writer checks whether ClickHouse has the row before it inserts it. A letter whose
 * previous replay is still in the queue is skipped, as is one that another process replays, erases or discards meanwhile.
 *
 * @param redis a connection that nothing else uses during the call, because WATCH applies to the whole connection
 * @param ids the letters to replay; by default all
 * @returns the number of replayed letters
 * @throws PartialTransactionError or ReplyError when Redis refused a replay; that letter stays
 */
export async function replayDeadLetters(redis: Redis, ids?: readonly string[]): Promise<number> {
  const adder = createJobAdder(redis);
  const wait = queueKey(DEAD_LETTER_QUEUE, 'wait');
  const skip = async (): Promise<boolean> => {
    await redis.unwatch();
    return false;
  };
  const replay = async (id: string): Promise<boolean> => {
    const letterKey = jobKey(DEAD_LETTER_QUEUE, id);
    await redis.watch(letterKey);
    const [letter] = await readLetters(redis, [id]);
    if (letter === undefined) return skip();
    const { kind, version, row } = letter;
    const job = jobKey(kind, id);
    await redis.watch(job);
    if ((await redis.exists(job)) === 1) return skip();
    // The claims of the row's event may have expired, so a filter would take the event for one that was never recorded.
    const workspaceId = workspaceOf(row);
    if (workspaceId !== undefined) await blockFilters(redis, createReplication(redis, 0), workspaceId);
    const multi = await adder.transaction();
    await adder.add(multi, { kind, jobId: id, version, rowCount: 1, rows: row });
    const keys = [queueKey(kind, 'wait'), wait, letterKey, batchOfJobKey(id)];
    multi.eval(RELEASE_LETTER, keys.length, ...keys, id);
    try {
      await adder.run(multi);
      return true;
    } catch (err) {
      // Another process has added the job, or changed or removed the letter, since WATCH.
      if (err instanceof DiscardedTransactionError) return false;
      throw err;
    }
  };

  // The list is read before the first replay, so that a row that is refused again is not replayed twice by one command.
  const replayedIds = ids ?? (await redis.lrange(wait, 0, -1)).reverse();
  let replayed = 0;
  for (const id of replayedIds) if (await replay(id)) replayed += 1;
  return replayed;
}

/** A dead letter as Redis has it. */
export interface RawLetter {
  readonly id: string;
  /** JSON, see {@link DeadLetter}; another release may have written it in another form. Empty if there is only the id. */
  readonly data: string;
}

/**
 * Removes a letter if it is still as it was read, and returns whether it was there. The list is searched from its oldest letter, with which
 * the command begins. KEYS: the list of letters, the letter, its rows. ARGV: its id, its data.
 */
const DISCARD_LETTER = `
if (redis.call('HGET', KEYS[2], 'data') or '') ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[2], KEYS[3])
return redis.call('LREM', KEYS[1], -1, ARGV[1])
`;

/**
 * Removes dead letters for good. One that another process replays, erases or discards meanwhile is left out.
 *
 * @param ids the letters to remove; undefined = all
 * @param keep called with letters before they are removed; if it throws, they stay
 * @returns the number of removed letters, which may be more than fit in memory
 */
export async function discardDeadLetters(
  redis: Redis,
  ids: readonly string[] | undefined,
  keep: (letters: readonly RawLetter[]) => Promise<void>,
): Promise<number> {
  const wait = queueKey(DEAD_LETTER_QUEUE, 'wait');
  const listed = (await redis.lrange(wait, 0, -1)).reverse();
  const known = new Set(listed);
  const chosen = ids === undefined ? listed : ids.filter((id) => known.has(id));
  let discarded = 0;
  for (const some of chunksOf(chosen, LISTED_MAX)) {
    const data = await Promise.all(some.map((id) => redis.hget(jobKey(DEAD_LETTER_QUEUE, id), 'data')));
    const letters = some.map((id, index) => ({ id, data: data[index] ?? '' }));
    await keep(letters);
    for (const letter of letters) {
      const keys = [wait, jobKey(DEAD_LETTER_QUEUE, letter.id), rowsKey(DEAD_LETTER_QUEUE, letter.id)];
      const removed = await redis.eval(DISCARD_LETTER, keys.length, ...keys, letter.id, letter.data);
      if (Number(removed) > 0) discarded += 1;
    }
  }
  return discarded;
}
