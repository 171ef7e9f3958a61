import type { Redis } from 'ioredis';
import type { QueueLogger } from './throttled-log.js';

interface Rule {
  /** As `CONFIG` names it. */
  readonly setting: string;
  /** As `INFO` names it, which managed servers allow where they refuse `CONFIG`. */
  readonly field?: string;
  readonly isRight: (value: string) => boolean;
  readonly wanted: string;
  readonly risk: string;
}

const is = (wanted: string) => (value: string) => value === wanted;

/** What a Redis must be set to, as the queue lives in it (docs/production.md, "Redis"). */
const RULES: readonly Rule[] = [
  {
    setting: 'maxmemory-policy',
    field: 'maxmemory_policy',
    isRight: is('noeviction'),
    wanted: 'noeviction',
    risk: 'queued events can be evicted',
  },
  {
    setting: 'appendonly',
    field: 'aof_enabled',
    isRight: (value) => value === 'yes' || value === '1',
    wanted: 'yes',
    risk: 'queued events are lost when Redis ends',
  },
  {
    setting: 'appendfsync',
    isRight: is('always'),
    wanted: 'always',
    risk: 'acknowledged events can be lost when Redis is killed',
  },
  {
    setting: 'maxmemory',
    field: 'maxmemory',
    isRight: (value) => value !== '0',
    wanted: 'a limit',
    risk: 'Redis can use all memory of its machine and be killed, and no load is turned away before',
  },
];

async function readSetting(redis: Redis, setting: string): Promise<string | undefined> {
  try {
    const [, value] = (await redis.config('GET', setting)) as string[];
    return value;
  } catch (err) {
    // Renamed, or not allowed: any other failure says nothing about the server.
    if (err instanceof Error && err.name === 'ReplyError') return undefined;
    throw err;
  }
}

function fieldOf(info: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
}

/**
 * What an operator should change about a Redis: a line for each setting that is wrong, or cannot be read.
 *
 * @throws when Redis does not answer
 */
export async function checkRedisSettings(redis: Redis): Promise<readonly string[]> {
  const info = `${await redis.info('memory')}\n${await redis.info('persistence')}`;
  const lines = await Promise.all(
    RULES.map(async ({ setting, field, isRight, wanted, risk }) => {
      const value = (await readSetting(redis, setting)) ?? fieldOf(info, field);
      if (value === undefined) return `REDIS_URL: ${setting} cannot be read; unless it is ${wanted}, ${risk}`;
      return isRight(value) ? undefined : `REDIS_URL: ${setting} is ${value}, not ${wanted}: ${risk}`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

/**
 * Warns of each wrong setting whenever the connection is made: after a failover another server answers. What was said once is
 * not repeated. Ends with the connection.
 */
export function warnOfRedisSettings(redis: Redis, logger: Pick<QueueLogger, 'warn'>): void {
  const said = new Set<string>();
  const check = async () => {
    try {
      for (const line of await checkRedisSettings(redis)) {
        if (!said.has(line)) logger.warn({}, line);
        said.add(line);
      }
    } catch {
      // It went away; the next connection is checked.
    }
  };
  redis.on('ready', check);
  if (redis.status === 'ready') void check();
}
