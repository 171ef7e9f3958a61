import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { historyKey } from '../queue/keys.js';

/**
 * The progress of an import of past events into a workspace, as one hash in Redis: the process that runs it (the owner of the lease), the
 * position in its source, and the batch that is being inserted. Every change checks the owner, so that a process that has lost the lease
 * changes nothing.
 */

const zip = promisify(gzip);
const unzip = promisify(gunzip);
/** Level of compression. Rows have much in common, so even the fastest level compresses them to a tenth. */
const FAST = 1;

const EVENT_KINDS = ['click', 'lead', 'sale'] as const;

const pendingSchema = z.object({
  id: z.string(),
  /** When it was begun, epoch milliseconds. */
  at: z.number(),
  /** How often its rows were changed after their inserts may have begun. It is part of the tokens of the inserts. */
  revision: z.number().default(0),
  /** Number of inserts in the first queue shard before the batch; of all together in batches of releases without `insertsElsewhere`. */
  insertsBefore: z.number(),
  /** Those of each other queue shard, or fewer (`InsertsElsewhere.seen`). */
  insertsElsewhere: z.array(z.number()).optional(),
  parts: z.array(z.object({ name: z.string(), kind: z.enum(EVENT_KINDS), rows: z.array(z.string()) })),
  /** Empty in batches of releases without claims. */
  claims: z
    .array(z.object({ eventId: z.string(), name: z.string(), ifTaken: z.enum(['drop', 'recurring']) }))
    .default([]),
  aliases: z.array(z.tuple([z.string(), z.string(), z.number()])),
  /** Pairs of a month, `YYYY-MM-01`, and the number of its events. */
  months: z.array(z.tuple([z.string(), z.number()])),
  /** The progress of the import once the batch is stored, from which it can be continued. */
  progress: z.string(),
});
/** A batch whose inserts may have begun. They can be repeated: the same rows under the same tokens are stored once. */
export type PendingBatch = z.infer<typeof pendingSchema>;

/** Another process imports past events into the workspace. */
export class HistoryBusyError extends Error {
  override readonly name = 'HistoryBusyError';
}

/**
 * Takes the lease unless another owner has it. If the clock of Redis was set back, the stored end of that lease may be further away than a lease
 * lasts: the script moves it to the end of a lease that begins now. ARGV: owner, lease and TTL of the hash in milliseconds. Returns 1 if the owner
 * has it now.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local owner, ends = redis.call('HGET', KEYS[1], 'owner'), tonumber(redis.call('HGET', KEYS[1], 'until') or '0')
if owner and owner ~= ARGV[1] and ends > now then
  if ends > now + ARGV[2] then redis.call('HSET', KEYS[1], 'until', now + ARGV[2]) end
  return 0
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', now + ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;

/**
 * Renews the lease, and deletes and sets fields of the hash, unless another owner has taken over. ARGV: owner, lease and TTL of the hash in
 * milliseconds, number of fields to delete, these fields, and the fields to set with their values. Returns 1 if it was done.
 */
const CHANGE = `
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'until', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
local next = 5
for _ = 1, tonumber(ARGV[4]) do
  redis.call('HDEL', KEYS[1], ARGV[next])
  next = next + 1
end
while ARGV[next] do
  redis.call('HSET', KEYS[1], ARGV[next], ARGV[next + 1])
  next = next + 2
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;

/** Gives the lease back; deletes the whole hash of a finished import. ARGV: owner, `finished` or `open`. */
const RELEASE = `
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
if ARGV[2] == 'finished' then redis.call('DEL', KEYS[1]) else redis.call('HDEL', KEYS[1], 'owner', 'until') end
return 1`;

/** TTL of the hash. An import that is not continued for this long starts anew. It then finds the events that it has stored by their ids. */
const KEPT_MS = 7 * 24 * 3_600_000;

/** What Redis has of the last import into the workspace. */
export interface HistoryPosition {
  /** Which import it is: only an import with the same identity continues it. */
  readonly identity?: string | undefined;
  /** The progress after its last stored batch. */
  readonly progress?: string | undefined;
  readonly pending?: PendingBatch;
  /** Names of the parts of the pending batch that ClickHouse refused as a whole, so that they are inserted in smaller parts. */
  readonly split: readonly string[];
}

export interface HistoryStateOptions {
  readonly redis: Redis;
  readonly replication: Replication;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
  readonly owner: string;
  readonly leaseMs: number;
}

/** All methods reject with the error of Redis or the connection, or with NotReplicatedError. */
export function createHistoryState({ redis, replication, workspaceNumber, owner, leaseMs }: HistoryStateOptions) {
  const key = historyKey(workspaceNumber);
  const run = (script: string, ...args: (string | number)[]) =>
    replication.confirmed(() => redis.eval(script, 1, key, owner, ...args));

  async function change(deleted: readonly string[], fields: Readonly<Record<string, string>>): Promise<void> {
    const values = Object.entries(fields).flat();
    if ((await run(CHANGE, leaseMs, KEPT_MS, deleted.length, ...deleted, ...values)) === 1) return;
    throw new HistoryBusyError('another process has taken over this import of past events');
  }

  return {
    /** Takes the lease. @returns false when another process has it */
    take: async (): Promise<boolean> => (await run(TAKE, leaseMs, KEPT_MS)) === 1,
    /** Renews the lease. @throws HistoryBusyError when another process has taken over */
    renew: () => change([], {}),

    async read(): Promise<HistoryPosition> {
      const { identity, progress, split = '', pending } = await redis.hgetall(key);
      const base = { identity, progress, split: split.split(' ').filter((name) => name !== '') };
      if (pending === undefined) return base;
      const text = (await unzip(Buffer.from(pending, 'base64'))).toString('utf8');
      return { ...base, pending: pendingSchema.parse(JSON.parse(text)) };
    },

    /** Records the start of an import, and deletes the state of another one. @throws HistoryBusyError */
    restart: (identity: string) => change(['progress', 'pending', 'split'], { identity }),

    /** Stores a batch before its inserts. @param split see {@link HistoryPosition.split}; @throws HistoryBusyError */
    async begin(batch: PendingBatch, split: readonly string[] = []): Promise<void> {
      const packed = await zip(JSON.stringify(batch), { level: FAST });
      await change([], { pending: packed.toString('base64'), split: split.join(' ') });
    },

    /** Records the parts that ClickHouse refused as a whole. @param names of all of them; @throws HistoryBusyError */
    markSplit: (names: readonly string[]) => change([], { split: names.join(' ') }),

    /** Records that the batch is stored. @param progress of the import after it; @throws HistoryBusyError */
    acknowledge: (progress: string) => change(['pending', 'split'], { progress }),

    /** Gives the lease back. Everything about a finished import is deleted. */
    async release(isFinished: boolean): Promise<void> {
      await run(RELEASE, isFinished ? 'finished' : 'open');
    },
  };
}
export type HistoryState = ReturnType<typeof createHistoryState>;
