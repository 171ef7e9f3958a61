import type { Redis } from 'ioredis';
import { infoField } from './info.js';
import type { QueueLogger } from './throttled-log.js';

/** A requirement on one setting. */
interface Rule {
  /** Name of the setting in `CONFIG GET`. */
  readonly setting: string;
  /** Name of the field of `INFO` with the same value. Managed servers allow `INFO` even where they refuse `CONFIG`. */
  readonly field?: string;
  readonly isValid: (value: string) => boolean;
  readonly expected: string;
  /** What may happen with another value, for the message. */
  readonly risk: string;
}

const is = (expected: string) => (value: string) => value === expected;

/** The settings that the queue requires of Redis (docs/production.md, "Redis"). */
const RULES: readonly Rule[] = [
  {
    setting: 'maxmemory-policy',
    field: 'maxmemory_policy',
    isValid: is('noeviction'),
    expected: 'noeviction',
    risk: 'queued events can be evicted',
  },
  {
    setting: 'appendonly',
    field: 'aof_enabled',
    isValid: (value) => value === 'yes' || value === '1',
    expected: 'yes',
    risk: 'queued events are lost when Redis stops',
  },
  {
    setting: 'appendfsync',
    isValid: is('always'),
    expected: 'always',
    risk: 'acknowledged events can be lost when Redis is killed',
  },
  {
    setting: 'maxmemory',
    field: 'maxmemory',
    isValid: (value) => value !== '0',
    expected: 'a limit',
    risk: 'Redis can use all memory of its machine and be killed, and load is not shed before that',
  },
];

/** A setting of Redis; undefined if Redis refuses to show its settings. @throws the error of the connection */
export async function readSetting(redis: Redis, setting: string): Promise<string | undefined> {
  try {
    const [, value] = (await redis.config('GET', setting)) as string[];
    return value;
  } catch (err) {
    // Redis answered with an error: the command is renamed or not allowed. Other errors are those of the connection.
    if (err instanceof Error && err.name === 'ReplyError') return undefined;
    throw err;
  }
}

/**
 * Checks the settings of a Redis server.
 *
 * @param name how messages name the server
 * @returns a message for each setting that is wrong or cannot be read
 * @throws when Redis does not respond
 */
export async function checkRedisSettings(redis: Redis, name = 'REDIS_URL'): Promise<readonly string[]> {
  const info = `${await redis.info('memory')}\n${await redis.info('persistence')}`;
  const lines = await Promise.all(
    RULES.map(async ({ setting, field, isValid, expected, risk }) => {
      const value = (await readSetting(redis, setting)) ?? (field === undefined ? undefined : infoField(info, field));
      if (value === undefined) return `${name}: ${setting} cannot be read; unless it is ${expected}, ${risk}`;
      return isValid(value) ? undefined : `${name}: ${setting} is ${value}, not ${expected}: ${risk}`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

/**
 * Checks the settings whenever the connection is established, because after a failover it leads to another server. Logs a warning for
 * each wrong setting; each message is logged once.
 *
 * @param name see {@link checkRedisSettings}
 */
export function warnOfRedisSettings(redis: Redis, logger: Pick<QueueLogger, 'warn'>, name = 'REDIS_URL'): void {
  const logged = new Set<string>();
  const check = async () => {
    try {
      for (const line of await checkRedisSettings(redis, name)) {
        if (!logged.has(line)) logger.warn({}, line);
        logged.add(line);
      }
    } catch {
      // The connection broke; the next one is checked.
    }
  };
  redis.on('ready', check);
  if (redis.status === 'ready') void check();
}
