import type { Redis } from 'ioredis';
import { z } from 'zod';
import { SPOOL_AGES_KEY } from '../queue/keys.js';
import { withinMs } from '../redis/deadline.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';
import { readDirectoryId } from './directory-id.js';
import type { Spool } from './spool.js';

/**
 * The ages of spools whose directories this process cannot read, such as those on other machines. Once a second each process stores in
 * Redis, for its spool directory, the time before which no event waits in it: the age of its oldest entry or, if it has none, the time at
 * which that was read. A process that cannot reach Redis stores nothing, so its last value stays, and everything since then may be in its
 * spool.
 */
export interface SpoolAges {
  /** Resolves once the value of this directory is stored, or the directory cannot be used. @throws the error of Redis or the connection */
  announced(): Promise<void>;
  /**
   * The time before which no event waits in the spool of another directory, epoch milliseconds; undefined if there is no other one; 0 if it
   * is unknown.
   *
   * @throws the error of Redis or the connection
   */
  oldestElsewhere(): Promise<number | undefined>;
  /** Stores a last value, which expires soon unless events stay in the spool. */
  close(): Promise<void>;
}

export interface SpoolAgesOptions {
  readonly redis: Redis;
  readonly directory: string;
  readonly spool: Pick<Spool, 'oldestMs'>;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

const INTERVAL_MS = 1000;
const ANSWER_WITHIN_MS = 2000;
const LOG_INTERVAL_MS = 60_000;
/**
 * How long the value of a process counts that was killed, or cannot reach Redis. After that, its events may be found missing too early; before
 * that, look-ups of events that never existed fail with "may be queued" if its machine is gone for good.
 */
const SILENT_MS_MAX = 3_600_000;
/** How long the last value of a process counts that has ended with an empty spool. Others that share the directory replace it before. */
const ENDED_MS = 5000;
/** After this process has lost Redis, the others may have lost it too, and Redis its data: they have this long to store their values. */
const AFTER_LOSS_MS = 5000;

/** KEYS: the hash. ARGV: the directory, its value, and how long the hash lives. */
const STORE = `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`;

/** Returns the values that have not expired, each after its directory, and deletes the others. KEYS: the hash. ARGV: the time. */
const READ = `
local all, live = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local since, expires = string.match(all[i + 1], '^(%d+) (%d+)$')
  if expires and tonumber(expires) > tonumber(ARGV[1]) then
    live[#live + 1] = all[i]
    live[#live + 1] = since
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return live
`;

const answerSchema = z.array(z.string());

/** Begins to store the value of a spool directory. */
export function createSpoolAges({ redis, directory, spool, logger, now }: SpoolAgesOptions): SpoolAges {
  const warn = throttled((context, message) => logger.warn(context, message), LOG_INTERVAL_MS);
  /** The last value that could be read; 0 before. It stays true while the directory cannot be read. */
  let since = 0;
  let announcing: Promise<void> | undefined;
  let hasAnnounced = false;
  let hasLostRedis = false;
  let isUnknownUntil = 0;

  /** The id of the directory; undefined while it cannot be used. */
  const readId = (): Promise<string | undefined> =>
    readDirectoryId(directory).catch((err: unknown) => {
      warn({ err, directory }, 'the spool directory has no id');
      return undefined;
    });

  /** Reads the value again. @returns whether the spool is empty */
  async function readSince(): Promise<boolean> {
    const readMs = now();
    try {
      const oldestMs = await spool.oldestMs();
      since = oldestMs ?? readMs;
      return oldestMs === undefined;
    } catch (err) {
      warn({ err, directory }, 'the age of the spool cannot be read');
      return false;
    }
  }

  async function store(isLast: boolean): Promise<void> {
    const id = await readId();
    if (id === undefined) return;
    const isEmpty = await readSince();
    const expires = now() + (isLast && isEmpty ? ENDED_MS : SILENT_MS_MAX);
    const value = `${Math.floor(since)} ${Math.ceil(expires)}`;
    const storing = redis.eval(STORE, 1, SPOOL_AGES_KEY, id, value, SILENT_MS_MAX);
    await withinMs(storing, ANSWER_WITHIN_MS, 'storing the age of the spool');
    hasAnnounced = true;
  }

  const announce = (): Promise<void> => {
    announcing ??= store(false).finally(() => {
      announcing = undefined;
    });
    return announcing;
  };

  /** A value that could not be stored leaves the last one, which is lower. */
  const announceIfConnected = () => {
    if (redis.status !== 'ready') return;
    announce().catch((err: unknown) => warn({ err }, 'the age of the spool could not be stored'));
  };
  const onClose = () => {
    hasLostRedis = true;
  };
  const onReady = () => {
    if (hasLostRedis) isUnknownUntil = now() + AFTER_LOSS_MS;
    hasLostRedis = false;
    announceIfConnected();
  };
  redis.on('close', onClose).on('ready', onReady);
  const timer = setInterval(announceIfConnected, INTERVAL_MS).unref();

  return {
    announced: () => (hasAnnounced ? Promise.resolve() : announce()),

    async oldestElsewhere() {
      const own = await readId();
      const reading = redis.eval(READ, 1, SPOOL_AGES_KEY, now());
      const answer = answerSchema.parse(await withinMs(reading, ANSWER_WITHIN_MS, 'reading the ages of spools'));
      if (now() < isUnknownUntil) return 0;
      const others = answer.flatMap((id, index) => (index % 2 === 0 && id !== own ? Number(answer[index + 1]) : []));
      return others.length === 0 ? undefined : Math.min(...others);
    },

    async close() {
      clearInterval(timer);
      redis.off('close', onClose).off('ready', onReady);
      await announcing?.catch(() => undefined);
      if (redis.status !== 'ready') return;
      await store(true).catch((err: unknown) => warn({ err }, 'the age of the spool could not be stored'));
    },
  };
}
