import type { Redis } from 'ioredis';
import { infoField } from './info.js';
import type { QueueLogger } from './throttled-log.js';

interface Rule {
  /** Its name in `CONFIG GET`. */
  readonly setting: string;
  /** Its name in `INFO`, which managed servers allow even where they refuse `CONFIG`. */
  readonly field?: string;
  readonly isValid: (value: string) => boolean;
  readonly expected: string;
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

async function readSetting(redis: Redis, setting: string): Promise<string | undefined> {
  try {
    const [, value] = (await redis.config('GET', setting)) as string[];
    return value;
  } catch (err) {
    // The command is renamed or not allowed. Any other error is not about the setting.
    if (err instanceof Error && err.name === 'ReplyError') return undefined;
    throw err;
  }
}

/**
 * Checks the settings of a Redis server.
 *
 * @param name of the server, which messages begin with
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
 * Logs a warning for each wrong setting whenever the connection is established, because after a failover it is another server.
 * Each message is logged once.
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
