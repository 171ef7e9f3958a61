import { execute, QUEUE_PREFIX } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { z } from 'zod';

/** Value of `{waymark}:heartbeat:<service>:<instance>` and of the fields of `{waymark}:instances`. Times are epoch milliseconds. */
const instanceSchema = z.object({
  service: z.string(),
  /** Host and process id. */
  instance: z.string(),
  host: z.string(),
  pid: z.int(),
  startedAt: z.number(),
  version: z.string(),
  /** Marks of its instance keys: that of the key it seals with, and those of all keys it accepts. Absent in earlier releases. */
  keys: z.object({ current: z.string(), accepted: z.array(z.string()).readonly() }).optional(),
  /** When the process last did work; null = not yet. */
  lastWorkAt: z.number().nullable(),
  /** When this heartbeat was written. */
  beatAt: z.number(),
});
/** A process of the installation, as it has registered itself. */
export type Instance = Readonly<z.infer<typeof instanceSchema>>;

/** A start or an end of a process. `{waymark}:starts` lists the latest, `{waymark}:last-ends` has the last end of each service. */
const processChangeSchema = z.object({
  at: z.number(),
  event: z.enum(['started', 'stopped', 'killed']),
  service: z.string(),
  instance: z.string(),
  pid: z.int(),
  /** When the process started, which distinguishes it from a later process of the same name. Only for `killed`. */
  startedAt: z.number().optional(),
});
export type ProcessChange = Readonly<z.infer<typeof processChangeSchema>>;

/** The content of the registry. */
export interface Registry {
  /** The registered processes; `raw` is the entry as it is stored, `isAlive` whether its last heartbeat has not expired. */
  readonly instances: readonly { readonly instance: Instance; readonly raw: string; readonly isAlive: boolean }[];
  /** The last end of a process, by service. */
  readonly lastEnds: ReadonlyMap<string, ProcessChange>;
  /** Number of starts so far, by service. */
  readonly starts: Readonly<Record<string, string>>;
  /** Number of processes that were killed so far, by service. */
  readonly kills: Readonly<Record<string, string>>;
}

/** How long a heartbeat counts. */
export const HEARTBEAT_TTL_MS = 10_000;
const CHANGES_KEPT = 100;
const KEYS = {
  instances: `${QUEUE_PREFIX}:instances`,
  changes: `${QUEUE_PREFIX}:starts`,
  lastEnds: `${QUEUE_PREFIX}:last-ends`,
  starts: `${QUEUE_PREFIX}:start-counts`,
  kills: `${QUEUE_PREFIX}:kill-counts`,
} as const;

const fieldOf = ({ service, instance }: Pick<Instance, 'service' | 'instance'>) => `${service}:${instance}`;
const heartbeatKey = (field: string) => `${QUEUE_PREFIX}:heartbeat:${field}`;

function parse<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Removes an instance and records it as killed, unless it has sent a heartbeat since it was read, or was removed already.
 * KEYS: instances, changes, last ends, kill counts. ARGV: field of the instance, its value as it was read, service, the change as JSON, how
 * many changes are kept.
 */
const MARK_KILLED = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('LPUSH', KEYS[2], ARGV[4])
redis.call('LTRIM', KEYS[2], 0, ARGV[5] - 1)
redis.call('HSET', KEYS[3], ARGV[3], ARGV[4])
redis.call('HINCRBY', KEYS[4], ARGV[3], 1)
return 1
`;

/** The processes of the installation, registered in Redis: each process writes its own entry, and every process can list all. */
export function createInstanceRegistry(redis: Redis) {
  function addBeat(multi: ReturnType<Redis['multi']>, instance: Instance): void {
    const text = JSON.stringify(instance);
    multi
      .set(heartbeatKey(fieldOf(instance)), text, 'PX', HEARTBEAT_TTL_MS)
      .hset(KEYS.instances, fieldOf(instance), text);
  }

  return {
    /** Registers a process that has started. */
    async started(instance: Instance): Promise<void> {
      const { startedAt: at, service, pid } = instance;
      const change: ProcessChange = { at, event: 'started', service, instance: instance.instance, pid };
      const multi = redis
        .multi()
        .lpush(KEYS.changes, JSON.stringify(change))
        .ltrim(KEYS.changes, 0, CHANGES_KEPT - 1);
      multi.hincrby(KEYS.starts, service, 1);
      addBeat(multi, instance);
      await execute(multi);
    },

    /** Writes a heartbeat. */
    async beat(instance: Instance): Promise<void> {
      const multi = redis.multi();
      addBeat(multi, instance);
      await execute(multi);
    },

    /** Removes the entry of a process that stops. */
    async stopped({ service, instance, pid }: Instance, at: number): Promise<void> {
      const change = JSON.stringify({ at, event: 'stopped', service, instance, pid } satisfies ProcessChange);
      const field = fieldOf({ service, instance });
      await execute(
        redis
          .multi()
          .del(heartbeatKey(field))
          .hdel(KEYS.instances, field)
          .lpush(KEYS.changes, change)
          .ltrim(KEYS.changes, 0, CHANGES_KEPT - 1)
          .hset(KEYS.lastEnds, service, change),
      );
    },

    /** Records a process that has ended without deregistering as killed. @param entry from {@link read} */
    async markKilled(
      { instance, raw }: { readonly instance: Instance; readonly raw: string },
      at: number,
    ): Promise<void> {
      const { service, pid, startedAt } = instance;
      const change: ProcessChange = { at, event: 'killed', service, instance: instance.instance, pid, startedAt };
      const keys = [KEYS.instances, KEYS.changes, KEYS.lastEnds, KEYS.kills];
      await redis.eval(
        MARK_KILLED,
        keys.length,
        ...keys,
        fieldOf(instance),
        raw,
        service,
        JSON.stringify(change),
        CHANGES_KEPT,
      );
    },

    async read(): Promise<Registry> {
      const [entries, ends, starts, kills] = await Promise.all([
        redis.hgetall(KEYS.instances),
        redis.hgetall(KEYS.lastEnds),
        redis.hgetall(KEYS.starts),
        redis.hgetall(KEYS.kills),
      ]);
      const fields = Object.keys(entries);
      const beats = fields.length === 0 ? [] : await redis.mget(fields.map(heartbeatKey));
      const instances = fields.flatMap((field, index) => {
        const raw = entries[field] ?? '';
        const instance = parse(instanceSchema, raw);
        return instance === undefined ? [] : [{ instance, raw, isAlive: typeof beats[index] === 'string' }];
      });
      const ended = Object.values(ends).map((text) => parse(processChangeSchema, text));
      const lastEnds = new Map(
        ended.filter((change) => change !== undefined).map((change) => [change.service, change]),
      );
      return { instances, lastEnds, starts, kills };
    },

    /** The latest starts and ends of all processes, latest first. */
    async processChanges(): Promise<readonly ProcessChange[]> {
      const texts = await redis.lrange(KEYS.changes, 0, -1);
      return texts.map((text) => parse(processChangeSchema, text)).filter((change) => change !== undefined);
    },
  };
}
export type InstanceRegistry = ReturnType<typeof createInstanceRegistry>;
