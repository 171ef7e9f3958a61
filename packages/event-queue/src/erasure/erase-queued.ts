import { chunksOf } from '@waymark/contract';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { COPYING_CLAIMS } from '../claims/claim-names.js';
import { blockFilters } from '../claims/filter-marks.js';
import { type ParkedLetter, readLetters } from '../queue/dead-letters.js';
import { claimKey, DEAD_LETTER_QUEUE, jobKey, queueKey, rowsKey } from '../queue/keys.js';
import { type ErasedInRows, erasedLetter, type LateRows } from './late-rows.js';

const LETTERS_AT_ONCE = 500;
const KEYS_AT_ONCE = 1000;
/** Ids have letters, digits and underscores; in claims, as in all JSON, other characters separate them. */
const ID = /\w+/g;
const COPYING_KEYS = COPYING_CLAIMS.map((kind) => claimKey(`${kind}:`));
/** A pattern for the first letters of {@link COPYING_CLAIMS}, so that one scan of all keys finds them, without the many claims of clicks. */
const COPYING_PATTERN = claimKey(
  `${[0, 1, 2].map((index) => `[${COPYING_CLAIMS.map((kind) => kind[index]).join('')}]`).join('')}*`,
);

/** Removes a letter. KEYS: the list, the letter, its rows. ARGV: its id. */
const REMOVE_LETTER = `
redis.call('LREM', KEYS[1], 0, ARGV[1])
return redis.call('DEL', KEYS[2], KEYS[3])
`;
/** Replaces the data of a letter that still exists. KEYS: the letter. ARGV: the data. */
const REPLACE_LETTER = `
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'data', ARGV[1]) end
return 0
`;

async function eraseLetter(redis: Redis, letter: ParkedLetter, people: ErasedInRows, lateRows: LateRows) {
  const kept = await erasedLetter(letter, people, lateRows);
  const { id } = letter;
  const key = jobKey(DEAD_LETTER_QUEUE, id);
  if (kept === undefined) {
    await redis.eval(REMOVE_LETTER, 3, queueKey(DEAD_LETTER_QUEUE, 'wait'), key, rowsKey(DEAD_LETTER_QUEUE, id), id);
  } else if (kept !== letter) {
    const { id: _id, ...data } = kept;
    await redis.eval(REPLACE_LETTER, 1, key, JSON.stringify(data));
  }
}

/** Removes the dead letters of deleted people and of erased customers from a queue shard, and anonymises those of anonymised people. */
export async function eraseDeadLetters(redis: Redis, people: ErasedInRows, lateRows: LateRows): Promise<void> {
  const ids = await redis.lrange(queueKey(DEAD_LETTER_QUEUE, 'wait'), 0, -1);
  for (const some of chunksOf(ids, LETTERS_AT_ONCE)) {
    for (const letter of await readLetters(redis, some)) {
      await eraseLetter(redis, letter, people, lateRows);
    }
  }
}

/**
 * Removes final claims whose value contains one of the ids. They were set by requests that were under way when the erasure was accepted,
 * and contain ids of clicks, or copies of customers and answers ({@link COPYING_CLAIMS}).
 *
 * @param workspaceIds the workspaces of the erased people
 * @param ids of the erased customers and clicks
 */
export async function eraseClaims(
  redis: Redis,
  replication: Replication,
  workspaceIds: readonly string[],
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const erased = new Set(ids);
  for (const workspaceId of new Set(workspaceIds)) await blockFilters(redis, replication, workspaceId);
  let cursor = '0';
  do {
    const [next, scanned] = await redis.scan(cursor, 'MATCH', COPYING_PATTERN, 'COUNT', KEYS_AT_ONCE);
    cursor = next;
    const keys = scanned.filter((key) => COPYING_KEYS.some((start) => key.startsWith(start)));
    const values = keys.length === 0 ? [] : await redis.mget(...keys);
    const found = keys.filter((_key, index) => {
      const value = values[index] ?? '';
      return value.startsWith('f:') && value.match(ID)?.some((id) => erased.has(id));
    });
    if (found.length > 0) await redis.del(...found);
  } while (cursor !== '0');
}
