import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { historyKey } from '../queue/keys.js';

/**
 * How far the import of past events of a workspace is, in one hash of Redis: who runs it, what it read last, and the batch that is being
 * inserted. Every change checks the owner, so that a process that has lost the lease changes nothing.
 */

const zip = promisify(gzip);
const unzip = promisify(gunzip);
/** Rows have much in common: the fastest level makes a tenth of them. */
const FAST = 1;

const EVENT_KINDS = ['click', 'lead', 'sale'] as const;

const pendingSchema = z.object({
  id: z.string(),
  /** When it was begun, epoch milliseconds. */
  at: z.number(),
  /** How often its rows were changed after their inserts may have begun. */
  revision: z.number().default(0),
  /** Inserts that all writers had started before. */
  insertsBefore: z.number(),
  parts: z.array(z.object({ name: z.string(), kind: z.enum(EVENT_KINDS), rows: z.array(z.string()) })),
  /** Empty in batches of releases without claims. */
  claims: z
    .array(z.object({ eventId: z.string(), name: z.string(), ifTaken: z.enum(['drop', 'recurring']) }))
    .default([]),
  aliases: z.array(z.tuple([z.string(), z.string(), z.number()])),
  /** Events of each month, `YYYY-MM-01`. */
  months: z.array(z.tuple([z.string(), z.number()])),
  /** What the import has done once the batch is stored. */
  progress: z.string(),
});
/** A batch whose inserts may have begun. Repeating them as they are here changes nothing. */
export type PendingBatch = z.infer<typeof pendingSchema>;

/** Another process imports past events into the workspace. */
export class HistoryBusyError extends Error {
  override readonly name = 'HistoryBusyError';
}

const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] and tonumber(redis.call('HGET', KEYS[1], 'until') or '0') > now then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', now + ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;

/** ARGV: owner, lease, expiry, number of fields to delete, these fields, and fields to set with their values. */
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

const RELEASE = `
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
if ARGV[2] == 'finished' then redis.call('DEL', KEYS[1]) else redis.call('HDEL', KEYS[1], 'owner', 'until') end
return 1`;

/** An import that nobody continues for as long starts anew: what it has stored is found by its ids. */
const KEPT_MS = 7 * 24 * 3_600_000;

/** What Redis has of an import. */
export interface HistoryPosition {
  /** Which import it is. */
  readonly identity?: string | undefined;
  readonly progress?: string | undefined;
  readonly pending?: PendingBatch;
  /** Parts of the pending batch that ClickHouse refused as a whole, and that are being inserted in smaller ones. */
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
    /** Whether this process may import now. */
    take: async (): Promise<boolean> => (await run(TAKE, leaseMs, KEPT_MS)) === 1,
    /** @throws HistoryBusyError when another process has taken over */
    renew: () => change([], {}),

    async read(): Promise<HistoryPosition> {
      const { identity, progress, split = '', pending } = await redis.hgetall(key);
      const base = { identity, progress, split: split.split(' ').filter((name) => name !== '') };
      if (pending === undefined) return base;
      const text = (await unzip(Buffer.from(pending, 'base64'))).toString('utf8');
      return { ...base, pending: pendingSchema.parse(JSON.parse(text)) };
    },

    /** Begins an import of that identity, from its start. @throws HistoryBusyError */
    restart: (identity: string) => change(['progress', 'pending', 'split'], { identity }),

    /** @param split names of the parts that ClickHouse has refused as a whole; @throws HistoryBusyError */
    async begin(batch: PendingBatch, split: readonly string[] = []): Promise<void> {
      const packed = await zip(JSON.stringify(batch), { level: FAST });
      await change([], { pending: packed.toString('base64'), split: split.join(' ') });
    },

    /** @param names all parts of the batch that ClickHouse refused as a whole; @throws HistoryBusyError */
    markSplit: (names: readonly string[]) => change([], { split: names.join(' ') }),

    /** The batch is stored. @throws HistoryBusyError */
    acknowledge: (progress: string) => change(['pending', 'split'], { progress }),

    /** Lets others import; a finished import leaves nothing. */
    async release(isFinished: boolean): Promise<void> {
      await run(RELEASE, isFinished ? 'finished' : 'open');
    },
  };
}
export type HistoryState = ReturnType<typeof createHistoryState>;
